// SPDX-License-Identifier: MIT

/// One of a user's phones, as a fingerprint: of its instance, or of its Contact and its Call-ID. Who has no instance and
/// has moved is known by the Call-ID, which all REGISTERs of a phone have in common (RFC 3261, 10.2).
public struct UpstreamDevice: Equatable, Sendable {
    /// The lower half is that of the name, the upper one that of the Call-ID, where that counts.
    public let fingerprint: UInt64

    /// As it was stored.
    public init(fingerprint: UInt64) { self.fingerprint = fingerprint }

    /// The phone of a REGISTER or a binding. One without a Contact (`*`, or none) is known by its Call-ID alone.
    public init(instance: String, contact: String, callID: String) {
        guard instance.isEmpty else {
            fingerprint = Self.hash(instance)
            return
        }
        let name = contact.isEmpty ? callID : Binding.withoutPushParameters(contact)
        fingerprint = Self.hash(name) | (callID.isEmpty ? 0 : Self.hash(callID) << 32)
    }

    /// The phone that a binding is of.
    public init(of binding: Binding) {
        self.init(instance: binding.instance, contact: binding.contact, callID: binding.callID)
    }

    /// Says whether both are one phone.
    public func isSamePhone(as other: UpstreamDevice) -> Bool {
        let run = fingerprint >> 32
        return UInt32(truncatingIfNeeded: fingerprint) == UInt32(truncatingIfNeeded: other.fingerprint)
            || run != 0 && run == other.fingerprint >> 32
    }

    private static func hash(_ text: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash & 0xFFFF_FFFF
    }
}
