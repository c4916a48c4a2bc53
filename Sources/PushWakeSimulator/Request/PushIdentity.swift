// SPDX-License-Identifier: MIT

/// Two fingerprints of an accepted push: pushes with the same `id` are the same push sent twice;
/// pushes with the same `content` went to the same token with the same body.
struct PushIdentity: Hashable, Sendable {
    /// Of token and push id.
    let id: UInt64
    /// Of token and body.
    let content: UInt64

    /// Takes the parts that make a push what it is; without an id of its own its content is its id.
    init(token: ArraySlice<UInt8>, body: [UInt8], id: ArraySlice<UInt8>? = nil) {
        let tokenHash = Fingerprint.of(token, seed: 0x51_7C_C1_B7_27_22_0A_95)
        content = Fingerprint.of(body[...], seed: tokenHash)
        self.id = id.map { Fingerprint.of($0, seed: tokenHash) } ?? content
    }
}

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
