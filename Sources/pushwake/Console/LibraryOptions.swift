// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeCore

/// Which libpushwake a subcommand runs from.
struct LibraryOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The libpushwake to run.", visibility: .hidden))
    var library: String?

    /// Loads the library and does something with it; what is wrong goes to standard error and ends the command.
    func use<Result>(_ body: (EngineLibrary) throws(EngineLibrary.Failure) -> Result) throws -> Result {
        do throws(EngineLibrary.Failure) {
            return try body(try EngineLibrary(named: library))
        } catch {
            Console.printError(error.message)
            throw ExitCode(1)
        }
    }

    /// Runs a tool of the library with these options; its exit code becomes that of the command.
    func run(_ tool: String, _ options: [(name: String, value: String)], _ settings: Settings? = nil) throws {
        let words = options.map { "\($0.name)=\($0.value)" }
        let code = try use { library throws(EngineLibrary.Failure) in
            try library.run(tool, words, settings?.pairs() ?? [])
        }
        if code != 0 { throw ExitCode(code) }
    }
}

extension Settings {
    /// All values by name.
    func pairs() -> [(name: String, value: String)] {
        // By bytes: a value may begin with what a character takes for its own part.
        lines().utf8.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            return (String(Substring(line[..<equals])), String(Substring(line[line.index(after: equals)...])))
        }
    }
}
