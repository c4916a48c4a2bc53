// SPDX-License-Identifier: MIT

import ArgumentParser
internal import PushWakeClient
import PushWakeCore

struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload", abstract: "Makes the engine read its settings file, keys and templates again.",
        discussion: """
            Prints each setting that counts from now on, each that takes a restart of the engine, and each value that \
            is in doubt. Exit code 1 when something is wrong: a settings file with a mistake in it changes nothing.
            """)

    @OptionGroup var options: SettingsOptions
    @Flag(name: .long, help: "JSON instead of lines.") var json = false

    func run() throws {
        let rows = try Engine.ask(options, .reload, "")
        if json {
            Console.show(rows, asJSON: true)
        } else {
            for field in rows.joined() {
                let text = PrintableText.cleaned(field.text ?? "")
                if ["problem", "doubt"].contains(field.name) { Console.printError(text) } else { Console.say(text) }
            }
        }
        if rows.joined().contains(where: { $0.name == "problem" }) { throw ExitCode(1) }
    }
}

struct RegisteredCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registered",
        abstract: "Reports to the engine that a user has registered, so that waiting calls go on.")

    @OptionGroup var options: SettingsOptions
    @Argument(help: "AoR, as the registrar has it.") var aor: String
    @Argument(help: "Contact URI.") var contact: String?

    func validate() throws {
        if aor.isEmpty { throw ValidationError("who has registered? name the user as the registrar has it") }
    }

    func run() throws {
        let client = EngineClient(settings: try options.load())
        client.begin(.registered)
        client.put(.aor, aor)
        client.put(.contactURI, contact ?? "")
        _ = try Engine.answer(client)
    }
}
