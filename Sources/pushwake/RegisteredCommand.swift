// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeClient

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
