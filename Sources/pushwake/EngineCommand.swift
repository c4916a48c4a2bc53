// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeCore

struct EngineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "engine", abstract: "Runs the engine that owns bindings, queue and provider connections.",
        discussion: """
            The modules for Kamailio and Asterisk start it themselves. Run it by hand, or under systemd, \
            for engine_mode=external.
            """)

    @OptionGroup var options: SettingsOptions
    @Flag(name: .long, help: ArgumentHelp("Take settings from standard input and end with it.", visibility: .hidden))
    var supervised = false
    @Option(name: .long, help: ArgumentHelp("The libpushwake to run.", visibility: .hidden))
    var library: String?

    func run() throws {
        let settings = try options.load()
        let hasRun: Bool
        do throws(EngineLibrary.Failure) {
            hasRun = try EngineLibrary(named: library).run(settings, isSupervised: supervised)
        } catch {
            Console.printError(error.message)
            throw ExitCode(1)
        }
        if !hasRun { throw ExitCode(1) }
    }
}
