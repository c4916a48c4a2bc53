// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeClient

struct NodesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nodes", abstract: "Lists the nodes that share the engine's store, with version and age.")

    @OptionGroup var options: SettingsOptions
    @Flag(name: .long, help: "JSON instead of a table.") var json = false

    func run() throws {
        Console.show(try Engine.ask(options, .nodes, ""), asJSON: json)
    }
}
