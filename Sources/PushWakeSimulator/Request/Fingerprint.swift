// SPDX-License-Identifier: MIT

/// A 64-bit hash, eight bytes at a time: the ledger sees every push of a load run.
enum Fingerprint {
    static func of(_ bytes: ArraySlice<UInt8>, seed: UInt64) -> UInt64 {
        bytes.withUnsafeBytes { raw in
            var hash = seed ^ UInt64(truncatingIfNeeded: raw.count) &* 0x9E37_79B9_7F4A_7C15
            var offset = 0
            while offset &+ 8 <= raw.count {
                hash = mix(hash ^ raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                offset &+= 8
            }
            var rest: UInt64 = 0
            while offset < raw.count {
                rest = rest &<< 8 | UInt64(raw[offset])
                offset &+= 1
            }
            return mix(hash ^ rest)
        }
    }

    @inline(__always)
    private static func mix(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
        return product.high ^ product.low
    }
}
