// SPDX-License-Identifier: MIT

internal import PushWakeSystem

/// What a terminal is told of work that takes long: nothing for half a second, then a line that is written over.
///
/// It knows neither terminal nor clock: times are monotonic milliseconds.
public struct ProgressLine: Sendable {
    /// Milliseconds before the first line, and between two.
    static let delay: Int64 = 500
    static let pause: Int64 = 200

    private let what: String
    /// Nil when nobody knows.
    private let total: Int?
    private let begin: Int64
    private var next: Int64
    private var length = 0

    /// `what` is counted, such as `bindings`.
    public init(_ what: String, of total: Int? = nil, now: Int64) {
        self.what = what
        self.total = total
        begin = now
        next = now &+ Self.delay
    }

    /// What to write when so many are done; nil when it is too early for another line.
    public mutating func text(done: Int, now: Int64) -> String? {
        guard now >= next else { return nil }
        next = now &+ Self.pause
        var text = "\(done)"
        if let total, total > 0 {
            let percent = min(100, max(0, Double(done) * 100 / Double(total)))
            text += " of \(total) \(what), \(Int(percent.rounded(.down))) %"
            let seconds = Double(now &- begin) / 1000
            if done > 0, done < total { text += ", \(Self.time(seconds * Double(total - done) / Double(done))) left" }
        } else {
            text += " \(what)"
        }
        let padding = String(repeating: " ", count: max(0, length - text.count))
        length = text.count
        return "\r\(text)\(padding)"
    }

    /// What takes the line away; nil when there was none.
    public mutating func end() -> String? {
        defer { length = 0 }
        return length > 0 ? "\r" + String(repeating: " ", count: length) + "\r" : nil
    }

    private static func time(_ seconds: Double) -> String {
        Age(seconds: Int64(exactly: min(max(seconds, 0), 1e12).rounded(.up)) ?? 0).text
    }
}

/// Shows on standard error how far long work is, when that is a terminal; nothing otherwise.
package struct TerminalProgress {
    private var line: ProgressLine?

    package init(_ what: String, of total: Int? = nil) {
        line = Descriptor.isTerminal(Descriptor.standardError) ? ProgressLine(what, of: total, now: Moment.now()) : nil
    }

    /// There is a terminal.
    package var isShown: Bool { line != nil }

    package mutating func show(_ done: Int) { write(line?.text(done: done, now: Moment.now())) }

    /// Takes the line away: what comes next has the screen for itself.
    package mutating func end() { write(line?.end()) }

    private func write(_ text: String?) {
        if let text { Descriptor.write(Array(text.utf8), to: Descriptor.standardError) }
    }
}
