// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeClient

struct BindingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bindings", abstract: "Lists the push bindings of a user, or of all users.",
        discussion: """
            Tokens are shortened. A removed binding is listed with the reason until its phone registers again. \
            Seconds and percent of -1 stand for never, and counts begin with the engine; --json has all columns.
            """
    )

    @OptionGroup var options: SettingsOptions
    @Flag(name: .long, help: "JSON instead of a table.") var json = false
    @Argument(help: "AoR, as the registrar has it: user or user@domain.") var aor: String?

    /// Columns that leave a table no room on a screen.
    private static let hidden: Set = ["dialect", "instance", "wake_ms"]

    func run() throws {
        let rows = try Engine.ask(options, .bindings, aor ?? "")
        if rows.isEmpty && !json {
            Console.printError(aor.map { "\($0) has no push binding" } ?? "there are no bindings")
        }
        let shown = json ? rows : rows.map { row in row.filter { !Self.hidden.contains($0.name) } }
        Console.show(shown, asJSON: json)
        if rows.isEmpty && aor != nil { throw ExitCode(1) }
    }
}

struct RegisteredCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registered", abstract: "Tells the engine that a user has registered: whoever waits goes on.")

    @OptionGroup var options: SettingsOptions
    @Argument(help: "AoR, as the registrar has it.") var aor: String
    @Argument(help: "Contact URI.") var contact: String?

    func run() throws {
        let client = EngineClient(settings: try options.load())
        client.begin(.registered)
        client.put(.aor, aor)
        client.put(.contactURI, contact ?? "")
        _ = try Engine.answer(client)
    }
}
