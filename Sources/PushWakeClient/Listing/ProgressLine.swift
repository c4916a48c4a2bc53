// SPDX-License-Identifier: MIT

/// What a terminal is told of work that takes long: nothing for half a second, then a line that is written over.
///
/// It knows neither terminal nor clock: times are monotonic milliseconds.
public struct ProgressLine: Sendable {
    /// Milliseconds before the first line, and between two.
    static let patience: Int64 = 500
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
        next = now &+ Self.patience
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
