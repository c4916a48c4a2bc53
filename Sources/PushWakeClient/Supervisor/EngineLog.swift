// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// Where the engine's lines go: to the supervisor, which hands them to the log of the PBX.
///
/// Text from packets and providers may hold anything: what a terminal obeys becomes `?`, so that nobody can write a
/// line of his own. Whoever puts a `key=value` into a line takes `PrintableText.logValue`.
public struct EngineLog {
    /// One for all copies: it may change while the engine runs.
    private final class Threshold {
        var level: LogLevel

        init(_ level: LogLevel) { self.level = level }
    }

    private let limit: Threshold
    private let write: (LogLevel, String) -> Void

    /// Hands lines up to `threshold` to `write`.
    public init(threshold: LogLevel, write: @escaping (LogLevel, String) -> Void) {
        limit = Threshold(threshold)
        self.write = write
    }

    /// The level up to which lines are written, by all copies of this log.
    public var threshold: LogLevel {
        get { limit.level }
        nonmutating set { limit.level = newValue }
    }

    /// Writes a line; its text is put together only when it is wanted.
    public func callAsFunction(_ level: LogLevel, _ text: @autoclosure () -> String) {
        guard level <= limit.level else { return }
        write(level, PrintableText.cleaned(text()))
    }

    /// Whose request it is, for a line.
    package static func names(_ aor: String, _ callID: String) -> String {
        "aor=\(PrintableText.logValue(aor)) call_id=\(PrintableText.logValue(callID))"
    }

    /// First six and last four bytes; a short token is hidden whole.
    package static func shortened(_ token: String) -> String { shortened(token.utf8Span.span) }

    /// The same for bytes.
    package static func shortened(_ token: Span<UInt8>) -> String {
        let count = token.count
        guard count > 16 else { return count == 0 ? "" : "…" }
        // In the middle, an ellipsis.
        var text: InlineArray<13, UInt8> = [0, 0, 0, 0, 0, 0, 0xE2, 0x80, 0xA6, 0, 0, 0, 0]
        for index in 0..<6 { text[index] = token[index] }
        for index in 0..<4 { text[9 + index] = token[count - 4 + index] }
        return text.span.text()
    }
}

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

    /// The same for the system's log (syslog(3)).
    public var priority: Int { rawValue + 3 }

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
