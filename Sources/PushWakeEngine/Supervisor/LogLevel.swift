// SPDX-License-Identifier: MIT

/// Weight of a log line; raw values are `enum pushwake_log_level`.
public enum LogLevel: Int, Comparable, Sendable, CaseIterable {
    case error = 0
    case warning = 1
    case notice = 2
    case info = 3
    case debug = 4

    /// The level with this name of the setting `log_level`.
    public init(name: String) {
        self = Self.allCases.first { $0.name == name } ?? .info
    }

    /// As `log_level` has it.
    public var name: String {
        switch self {
        case .error: "error"
        case .warning: "warning"
        case .notice: "notice"
        case .info: "info"
        case .debug: "debug"
        }
    }

    public static func < (a: LogLevel, b: LogLevel) -> Bool { a.rawValue < b.rawValue }

    /// A line of the engine's standard error: the level's digit, a space, the text.
    public static func parse(line: String) -> (LogLevel, String) {
        let utf8 = line.utf8
        guard let digit = utf8.first, let level = LogLevel(rawValue: Int(digit) - 0x30),
            utf8.dropFirst().first == 0x20
        else { return (.warning, line) }
        return (level, String(line.dropFirst(2)))
    }
}
