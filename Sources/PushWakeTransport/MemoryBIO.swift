// SPDX-License-Identifier: MIT

internal import COpenSSL

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
