// SPDX-License-Identifier: MIT

import Glibc

/// Words for what the operating system says.
enum SystemErrorText {
    /// The text of an `errno`.
    static func of(_ number: Int32) -> String { strerror(number).map { String(cString: $0) } ?? "error \(number)" }

    /// The way to give a file to the user this process runs as.
    static func ownerRemedy(_ path: String) -> String { "`chown \(geteuid()) \(path)` and mode 0600 let it in" }
}
