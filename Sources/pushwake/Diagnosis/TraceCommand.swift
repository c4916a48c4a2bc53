// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeClient

struct TraceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace", abstract: "Tells what happened to a call: why a phone did not ring.",
        discussion: """
            The engine remembers its last 10,000 requests. With a Call-ID or an AoR: up to 20 of them line by line, the \
            newest first. With neither: the newest 20, a line each.
            """)

    @OptionGroup var options: SettingsOptions
    @Flag(name: .long, help: "JSON: an array of requests, each with its lines.") var json = false
    @Argument(help: "Call-ID, or AoR as the registrar has it.", completion: Completion.users) var name: String?

    func validate() throws {
        if name?.isEmpty == true { throw ValidationError("give a Call-ID or an AoR, or leave it out for all") }
    }

    func run() throws {
        let report = TraceReport(try Engine.ask(options, .trace, name ?? ""))
        if json {
            Console.say(report.json)
        } else if name == nil {
            if report.table.isEmpty { Console.printError("there was no request yet") }
            Console.show(report.table, asJSON: false)
        } else {
            Console.say(report.text)
        }
    }
}
