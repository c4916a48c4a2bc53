// SPDX-License-Identifier: MIT

internal import COpenSSL

/// OpenSSL writes ECDSA signatures as DER, JOSE as two numbers of 32 bytes.
enum ECDSASignature {
    static func raw(fromDER der: [UInt8]) throws(TLSError) -> [UInt8] {
        let parsed = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var start = buffer.baseAddress
            return d2i_ECDSA_SIG(nil, &start, buffer.count)
        }
        guard let parsed else { throw TLSError.drain("read a signature") }
        defer { ECDSA_SIG_free(parsed) }
        var raw = [UInt8](repeating: 0, count: 64)
        let isComplete = raw.withUnsafeMutableBufferPointer { buffer -> Bool in
            guard let base = buffer.baseAddress else { return false }
            return BN_bn2binpad(ECDSA_SIG_get0_r(parsed), base, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(parsed), base + 32, 32) == 32
        }
        guard isComplete else { throw TLSError.drain("read a signature") }
        return raw
    }

    static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 64 else { return nil }
        // Two INTEGERs: a leading zero keeps them positive, other leading zeros are not allowed (X.690, 8.3).
        func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var digits = Array(bytes.drop { $0 == 0 })
            if digits.first.map({ $0 & 0x80 != 0 }) ?? true { digits.insert(0, at: 0) }
            return [0x02, UInt8(truncatingIfNeeded: digits.count)] + digits
        }
        let content = integer(raw[0..<32]) + integer(raw[32..<64])
        return [0x30, UInt8(truncatingIfNeeded: content.count)] + content
    }
}
