// SPDX-License-Identifier: MIT

import ArgumentParser
internal import PushWakeClient

struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "Prints the engine's counters.")

    @OptionGroup var options: SettingsOptions
    @Flag(name: .long, help: "One JSON object instead of a table.") var json = false

    func run() throws {
        let rows = try Engine.ask(options, .stats, "")
        guard let row = rows.first else { return }
        if json {
            Console.say(Console.object(row))
        } else {
            for field in row { Console.say("\(field.name) \(field.text ?? String(field.number))") }
        }
    }
}

struct NodesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nodes", abstract: "Lists the nodes that share the engine's store, with version and age.")

    @OptionGroup var options: SettingsOptions
    @Flag(name: .long, help: "JSON instead of a table.") var json = false

    func run() throws {
        Console.show(try Engine.ask(options, .nodes, ""), asJSON: json)
    }
}
