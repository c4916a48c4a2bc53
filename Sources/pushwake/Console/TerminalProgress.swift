// SPDX-License-Identifier: MIT

import Glibc
import PushWakeClient

/// Shows on standard error how far long work is, when that is a terminal; nothing otherwise.
struct TerminalProgress {
    private var line: ProgressLine?

    init(_ what: String, of total: Int? = nil) {
        line = isatty(STDERR_FILENO) == 1 ? ProgressLine(what, of: total, now: Moment.now()) : nil
    }

    /// There is a terminal.
    var isShown: Bool { line != nil }

    mutating func show(_ done: Int) {
        if let text = line?.text(done: done, now: Moment.now()) { Console.write(text, to: STDERR_FILENO) }
    }

    /// Takes the line away: what comes next has the screen for itself.
    mutating func end() {
        if let text = line?.end() { Console.write(text, to: STDERR_FILENO) }
    }
}
