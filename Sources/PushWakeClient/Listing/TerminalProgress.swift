// SPDX-License-Identifier: MIT

internal import PushWakeSystem

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
