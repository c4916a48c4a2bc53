// SPDX-License-Identifier: MIT

internal import COpenSSL

/// Where OpenSSL keeps private keys.
public enum KeyMemory {
    /// Keeps what OpenSSL holds of private keys that are read from now on where neither a core file nor the swap gets it.
    /// Once, before the first; without it they are where everything is. The text of a file that was read is elsewhere.
    /// There is room for four times the keys that are told, but for a thousand at least: where it is full no key can be
    /// read.
    public static func protect(keys: Int = 0) {
        guard CRYPTO_secure_malloc_initialized() == 0 else { return }
        // OpenSSL puts what is secret of a key there by itself: some 900 bytes for RSA of 2048 bits. It wants a power of 2.
        var size = 1 << 20
        while size < 1 << 26, size < keys * bytesPerKey { size *= 2 }
        CRYPTO_secure_malloc_init(size, 16)
    }

    private static let bytesPerKey = 4096
}

/// OpenSSL's old ciphers, in a world of their own: what PKCS#12 files of macOS and old tools are encrypted with.
///
/// The legacy provider is loaded into a separate library context, and only while this object lives: for TLS and
/// everything else in the process it does not exist.
final class LegacyOpenSSL {
    let context: OpaquePointer
    private let providers: [OpaquePointer]

    /// Nil when the provider is not installed.
    init?() {
        guard let context = OSSL_LIB_CTX_new() else { return nil }
        let names = ["default", "legacy"]
        let loaded = names.compactMap { (name: String) in OSSL_PROVIDER_load(context, name) }
        self.context = context
        providers = loaded
        guard loaded.count == 2 else {
            _ = TLSError.drain("")
            return nil
        }
    }

    /// Runs `body`, in which what asks for ciphers without naming a context finds those of this one.
    func asDefault<Result>(_ body: () -> Result) -> Result {
        let before = OSSL_LIB_CTX_set0_default(context)
        defer { OSSL_LIB_CTX_set0_default(before) }
        return body()
    }

    deinit {
        for provider in providers { OSSL_PROVIDER_unload(provider) }
        OSSL_LIB_CTX_free(context)
    }
}

/// An OpenSSL BIO over bytes in memory: reads a key or certificate text, or collects a written one.
final class MemoryBIO {
    let pointer: OpaquePointer

    /// A BIO to write to.
    init() throws(TLSError) {
        guard let bio = BIO_new(BIO_s_mem()) else { throw TLSError.drain("allocate") }
        pointer = bio
    }

    /// A BIO that reads a copy of the bytes.
    convenience init(_ bytes: [UInt8]) throws(TLSError) {
        try self.init()
        let count = Int32(truncatingIfNeeded: min(bytes.count, 1 << 20))
        _ = bytes.withUnsafeBytes { BIO_write(pointer, $0.baseAddress, count) }
    }

    deinit { BIO_free(pointer) }

    /// All that has been written.
    var contents: [UInt8] {
        var start: UnsafePointer<UInt8>?
        let count = copenssl_memory(pointer, &start)
        return Array(UnsafeBufferPointer(start: start, count: count))
    }
}
