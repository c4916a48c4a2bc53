// SPDX-License-Identifier: MIT

/// Every accepted push, so that lost and doubled ones can be told.
struct PushLedger: Sendable {
    /// More pushes than this are counted but not remembered.
    static let most = 8_000_000

    private var ids: Set<UInt64> = []
    private var contents: Set<UInt64> = []
    private var tokens: Set<UInt64> = []
    /// Ids of pushes that were accepted without an answer and have not come again.
    private var silent: Set<UInt64> = []
    /// Pushes whose id was accepted before.
    private(set) var duplicates = 0
    /// Pushes with a new id whose token and body were accepted before.
    private(set) var repeats = 0
    /// Pushes that came again with the same id after a first copy that was accepted without an answer: no sender
    /// can tell such a copy from one that was lost.
    private(set) var resends = 0
    /// Pushes to a token that had accepted one before, whatever was in either.
    private(set) var copies = 0
    /// Pushes that were accepted without an answer.
    private(set) var unheard = 0
    /// Memory was full, so duplicates may have been missed.
    private(set) var isFull = false

    /// Number of different ids accepted.
    var distinct: Int { ids.count }

    /// Enters one push; false when it is doubled. `isAnswered`: its sender hears that it was accepted.
    mutating func enter(_ push: PushIdentity, isAnswered: Bool) -> Bool {
        guard ids.count < Self.most else {
            isFull = true
            return true
        }
        if !isAnswered { unheard += 1 }
        if !tokens.insert(push.token).inserted { copies += 1 }
        guard ids.insert(push.id).inserted else {
            if silent.remove(push.id) != nil {
                resends += 1
                if !isAnswered { silent.insert(push.id) }
                return true
            }
            duplicates += 1
            return false
        }
        if !isAnswered { silent.insert(push.id) }
        if !contents.insert(push.content).inserted { repeats += 1 }
        return true
    }
}

/// Fingerprints of an accepted push: pushes with the same `id` are the same push sent twice;
/// pushes with the same `content` went to the same token with the same body.
struct PushIdentity: Hashable, Sendable {
    let token: UInt64
    /// Of token and push id.
    let id: UInt64
    /// Of token and body.
    let content: UInt64

    /// Takes the parts that make a push what it is; without an id of its own its content is its id.
    init(token: ArraySlice<UInt8>, body: [UInt8], id: ArraySlice<UInt8>? = nil) {
        let tokenHash = Fingerprint.of(token, seed: 0x51_7C_C1_B7_27_22_0A_95)
        self.token = tokenHash
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
