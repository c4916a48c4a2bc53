// SPDX-License-Identifier: MIT

import ArgumentParser
import Glibc
import PushWakeCore

/// Where a subcommand takes its settings from.
struct SettingsOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("Settings file, one name = value a line.", valueName: "file"))
    var settings: String?

    @Option(name: .long, help: ArgumentHelp("One setting; may be repeated.", valueName: "name=value"))
    var set: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Unix socket of the engine (the setting engine_socket, or PUSHWAKE_SOCKET in the environment).",
            valueName: "path"))
    var socket: String?

    /// The values that file and options give; every problem goes to standard error and ends the command.
    func load() throws -> Settings {
        var values = Settings()
        if let settings {
            guard let text = TextFile.read(settings) else {
                Console.complain("cannot read \(settings); give a readable file with --settings")
                throw ExitCode(2)
            }
            let problems = values.read(file: text)
            for problem in problems {
                Console.complain("\(settings):\(problem.line): \(problem.error.setting): \(problem.error.message)")
            }
            if !problems.isEmpty { throw ExitCode(2) }
        }
        for pair in set {
            guard let equals = pair.firstIndex(of: "=") else {
                Console.complain("--set \(pair): write name=value")
                throw ExitCode(2)
            }
            try assign(&values, String(pair[..<equals]), String(pair[pair.index(after: equals)...]))
        }
        // A dialplan cannot give options to the script that it starts; its environment can.
        if let socket = socket ?? getenv("PUSHWAKE_SOCKET").map({ String(cString: $0) }) {
            try assign(&values, "engine_socket", socket)
        }
        return values
    }

    private func assign(_ values: inout Settings, _ name: String, _ value: String) throws {
        do throws(SettingError) {
            try values.set(name, to: value)
        } catch {
            Console.complain("\(error.setting): \(error.message)")
            throw ExitCode(2)
        }
    }
}
