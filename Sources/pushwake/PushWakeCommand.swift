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
        version: Release.version,
        groupedSubcommands: [
            CommandGroup(
                name: "See what happens",
                subcommands: [
                    DoctorCommand.self, TraceCommand.self, BindingsCommand.self, StatsCommand.self, NodesCommand.self,
                ]),
            CommandGroup(
                name: "Push and call",
                subcommands: [TryCommand.self, SendCommand.self, CanaryCommand.self, ExplainCommand.self]),
            CommandGroup(
                name: "Set up",
                subcommands: [
                    CheckCommand.self, SettingsCommand.self, ReloadCommand.self, PayloadCommand.self,
                    ParseCommand.self,
                ]),
            CommandGroup(
                name: "Run",
                subcommands: [EngineCommand.self, RegisteredCommand.self, AGICommand.self]),
            CommandGroup(name: "Test", subcommands: [SimulateCommand.self, LoadCommand.self]),
        ])
}

extension PushWakeCommand {
    /// Exit codes: 0 done, 1 the thing asked for failed, 2 usage.
    static func main() {
        Descriptor.fillStandard()
        guard let arguments else {
            Console.write(
                "pushwake: cannot read its arguments from /proc/self/cmdline; mount /proc\n", to: STDERR_FILENO)
            Glibc.exit(1)
        }
        do {
            var command = try parseAsRoot(AGICommand.closed(arguments))
            try command.run()
        } catch {
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            Console.write(fullMessage(for: error) + "\n", to: STDERR_FILENO)
            Glibc.exit(2)
        }
    }

    /// Without the program's name. The runtime looks for them beside the environment, and finds none where a library that
    /// was preloaded has changed that.
    private static var arguments: [String]? {
        var all = CommandLine.arguments
        if all.isEmpty, let bytes = try? FileContent.read("/proc/self/cmdline") {
            all = bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast().map {
                String(decoding: $0, as: UTF8.self)
            }
        }
        return all.isEmpty ? nil : Array(all.dropFirst())
    }
}
