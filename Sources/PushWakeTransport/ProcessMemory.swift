// SPDX-License-Identifier: MIT

private import CLinux

/// What this process weighs.
public enum ProcessMemory {
    /// Bytes that are in memory now; 0 when the system does not tell.
    public static func resident() -> Int {
        guard let bytes = try? FileContent.read("/proc/self/statm") else { return 0 }
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ")
        guard words.count > 1, let pages = Int(words[1]) else { return 0 }
        return pages.multipliedReportingOverflow(by: Int(sysconf(Int32(_SC_PAGESIZE)))).partialValue
    }
}
