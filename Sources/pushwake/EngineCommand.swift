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
        // What is wrong is said before the library is looked for.
        let settings = try options.load()
        // Standard input cannot be read again.
        let path = options.settings == "-" ? nil : options.settings
        let values = path == nil ? Self.values(settings) : try options.others()
        let hasRun: Bool
        do throws(EngineLibrary.Failure) {
            hasRun = try EngineLibrary(named: library).run(file: path, values, isSupervised: supervised)
        } catch {
            Console.printError(error.message)
            throw ExitCode(1)
        }
        if !hasRun { throw ExitCode(1) }
    }

    private static func values(_ settings: Settings) -> [(name: String, value: String)] {
        settings.lines().split(separator: "\n").compactMap { (line: Substring) in
            guard let equals = line.firstIndex(of: "=") else { return nil }
            return (String(line[..<equals]), String(line[line.index(after: equals)...]))
        }
    }
}
