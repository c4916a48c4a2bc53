// SPDX-License-Identifier: MIT

public import PushWakeCore
internal import PushWakeSystem

/// A subcommand of `pushwake` that is made of the engine's code and runs without an engine: the program reads the command
/// line, the library does the work (docs/architecture/engine-process.md).
public enum Tool: String, Sendable {
    /// Looks at a settings file or a kamailio.cfg, and at the keys that it names.
    case check
    /// Says which pushes a request would cause.
    case explain
    /// Measures the delivery path against a simulator.
    case load

    /// Runs it with options such as `file=pushwake.conf` and writes what it finds. Gives the exit code: 0 done, 1 what was
    /// asked for failed, 2 something cannot be read; nil when the options are not its own.
    public func run(_ words: [String], settings: Settings) -> Int32? {
        let output = ToolOutput()
        guard let options = ToolOptions(words, of: self) else { return nil }
        do throws(ToolFailure) {
            let code: Int32? =
                switch self {
                case .check: try CheckTool(options, output)?.run()
                case .explain: try ExplainTool(options, settings, output)?.run()
                case .load: try LoadTool(options, output)?.run()
                }
            return output.isBroken ? 1 : code
        } catch {
            output.printError(error.message)
            return error.code
        }
    }

    /// What its options are called.
    var options: Set<String> {
        switch self {
        case .check: ["file", "user", "define"]
        case .explain: ["register", "aor", "request", "event", "push-type"]
        case .load: ["provider", "url", "dir", "count", "concurrency", "connections", "backlog", "json"]
        }
    }
}

/// Why a tool ends before its end.
struct ToolFailure: Error {
    let message: String
    let code: Int32

    init(_ message: String, code: Int32) { (self.message, self.code) = (message, code) }
}

/// What the command line says.
struct ToolOptions {
    private var values: [String: [String]] = [:]

    /// Reads `name=value`; nil when a name is not one of the tool's.
    init?(_ words: [String], of tool: Tool) {
        for word in words {
            guard let equals = word.utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let name = String(word[..<equals])
            guard tool.options.contains(name) else { return nil }
            values[name, default: []].append(String(word[word.utf8.index(after: equals)...]))
        }
    }

    /// The value of an option; nil when it is not given.
    subscript(name: String) -> String? { values[name]?.last }

    /// The values of an option that may be repeated.
    func all(_ name: String) -> [String] { values[name] ?? [] }

    /// A number; nil when it is not given, or is none.
    func number(_ name: String) -> Int? { self[name].flatMap { Int($0) } }
}

/// Standard output and standard error, as the program has them.
final class ToolOutput {
    /// What was asked for could not be written.
    private(set) var isBroken = false

    func say(_ line: String) { write(Array((line + "\n").utf8)) }

    func write(_ bytes: [UInt8]) {
        guard !isBroken, let error = Descriptor.write(bytes, to: Descriptor.standardOutput) else { return }
        isBroken = true
        printError("cannot \(error)")
    }

    func printError(_ text: String) {
        Descriptor.write(Array("pushwake: \(text)\n".utf8), to: Descriptor.standardError)
    }
}
