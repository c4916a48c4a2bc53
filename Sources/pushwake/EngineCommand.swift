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
    @Flag(name: .long, help: ArgumentHelp("Try settings from standard input, and end.", visibility: .hidden))
    var trial = false
    @OptionGroup var library: LibraryOptions

    func run() throws {
        // What is wrong is said before the library is looked for.
        let settings = try options.load()
        // Standard input cannot be read again.
        let path = options.settings == "-" ? nil : options.settings
        let values = path == nil ? settings.pairs() : try options.others()
        let hasRun = try library.use { library throws(EngineLibrary.Failure) in
            try library.run(file: path, values, isSupervised: supervised, isTrial: trial)
        }
        if !hasRun { throw ExitCode(1) }
    }
}
