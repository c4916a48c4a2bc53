// SPDX-License-Identifier: MIT

private import CLinux
internal import COpenSSL

/// What this process weighs.
public enum ProcessMemory {
    /// Keeps what OpenSSL holds of private keys that are read from now on where neither a core file nor the swap gets it.
    /// Once, before the first; without it they are where everything is. The text of a file that was read is elsewhere.
    public static func protectKeys() {
        // Room for some thousand keys. OpenSSL puts what is secret of a key there by itself.
        if CRYPTO_secure_malloc_initialized() == 0 { CRYPTO_secure_malloc_init(1 << 20, 16) }
    }

    /// No core file of this process, and nobody but root looks into it.
    public static func forbidCore() { clinux_forbid_core() }

    /// Bytes that are in memory now; 0 when the system does not tell.
    public static func resident() -> Int {
        guard let bytes = try? FileContent.read("/proc/self/statm") else { return 0 }
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ")
        guard words.count > 1, let pages = Int(words[1]) else { return 0 }
        return pages.multipliedReportingOverflow(by: Int(sysconf(Int32(_SC_PAGESIZE)))).partialValue
    }
}
