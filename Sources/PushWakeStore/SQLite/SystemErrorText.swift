// SPDX-License-Identifier: MIT

import Glibc

/// Words for what the operating system says.
enum SystemErrorText {
    /// The text of an `errno`.
    static func of(_ number: Int32) -> String { strerror(number).map { String(cString: $0) } ?? "error \(number)" }

    /// The way to give a file to the user this process runs as, or the directory when there is no such file yet.
    static func ownerRemedy(_ path: String) -> String {
        guard access(path, F_OK) != 0 else { return "`chown \(geteuid()) \(path)` and mode 0600 let it in" }
        let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        return
            "`chown \(geteuid()) \(directory.isEmpty ? "/" : directory)` lets it in, or set store_path to a directory of its own"
    }
}
