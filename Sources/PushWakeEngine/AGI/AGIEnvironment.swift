// SPDX-License-Identifier: MIT

/// The lines with which Asterisk introduces a channel to an AGI script: `agi_name: value`, ended by an empty one.
public struct AGIEnvironment: Sendable {
    private static let mostLines = 256
    private var values: [String: String] = [:]
    /// The empty line has come.
    public private(set) var isComplete = false

    /// Makes one that has heard nothing yet.
    public init() {}

    /// Takes one line without its end; what is no `name: value` is ignored.
    public mutating func line(_ text: String) {
        guard !text.isEmpty else {
            isComplete = true
            return
        }
        guard values.count < Self.mostLines, let colon = text.firstIndex(of: ":") else { return }
        let value = text[text.index(after: colon)...].drop { $0 == " " }
        values[String(text[..<colon])] = String(value)
    }

    /// The value under a name such as `agi_callerid`; Asterisk's `unknown` reads as empty.
    public subscript(name: String) -> String {
        let value = values[name] ?? ""
        return value == "unknown" ? "" : value
    }

    /// `agi_arg_1`, `agi_arg_2`, … up to the first that is missing.
    public var arguments: [String] {
        var found: [String] = []
        while let value = values["agi_arg_\(found.count + 1)"], found.count < 32 { found.append(value) }
        return found
    }
}
