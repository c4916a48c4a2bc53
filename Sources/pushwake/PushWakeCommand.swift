// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeCore

@main
struct PushWakeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushwake",
        abstract: "Wakes sleeping phones for SIP servers.",
        version: Release.version.description,
        subcommands: [
            EngineCommand.self, SimulateCommand.self, ParseCommand.self, LoadCommand.self, SendCommand.self,
            ExplainCommand.self,
            BindingsCommand.self, StatsCommand.self, AGICommand.self,
            RegisteredCommand.self, CheckCommand.self, SettingsCommand.self,
        ])
}
