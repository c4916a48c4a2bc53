// SPDX-License-Identifier: MIT

import ArgumentParser
import Glibc
import PushWakeCore
import PushWakeSystem

@main
struct PushWakeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushwake",
        abstract: "Wakes sleeping phones for SIP servers.",
        version: Release.version.description,
        subcommands: [
            EngineCommand.self, SimulateCommand.self, ParseCommand.self, LoadCommand.self, SendCommand.self,
            ExplainCommand.self,
            BindingsCommand.self, NodesCommand.self, TraceCommand.self, DoctorCommand.self, StatsCommand.self,
            AGICommand.self, CanaryCommand.self,
            RegisteredCommand.self, ReloadCommand.self, CheckCommand.self, SettingsCommand.self, PayloadCommand.self,
        ])
}

extension PushWakeCommand {
    /// Exit codes: 0 done, 1 the thing asked for failed, 2 usage.
    static func main() {
        Descriptor.fillStandard()
        // The runtime reads them there, and would show the help to everybody.
        guard !CommandLine.arguments.isEmpty else {
            Console.write(
                "pushwake: cannot read its arguments from /proc/self/cmdline; mount /proc\n", to: STDERR_FILENO)
            Glibc.exit(1)
        }
        do {
            var command = try parseAsRoot(AGICommand.closed(Array(CommandLine.arguments.dropFirst())))
            try command.run()
        } catch {
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            Console.write(fullMessage(for: error) + "\n", to: STDERR_FILENO)
            Glibc.exit(2)
        }
    }
}
