// SPDX-License-Identifier: MIT

/// The nonces of Digest (RFC 7616, 3.3): a time, and a tag that only this engine can make. Of nonces in use the last
/// count is kept, so that an overheard request is not taken twice.
struct DigestNonces {
    /// Seconds for which a nonce can be used.
    static let lifetime: Int64 = 300
    /// Nonces whose count is kept; one that is forgotten is stale.
    static let most = 4096

    enum Finding: Equatable {
        case good
        /// It was ours, or that of an engine that ran before; the client asks again with a new one, without asking its user.
        case stale
        /// No engine makes such a nonce or count.
        case malformed
    }

    private let tag: (_ text: [UInt8]) -> [UInt8]
    private var lastCounts: [String: UInt32] = [:]
    private var serial: UInt64 = 0

    /// `tag` is a keyed hash (HMAC) with a key of this engine.
    init(tag: @escaping ([UInt8]) -> [UInt8]) { self.tag = tag }

    /// A new nonce; `now` in seconds here and below.
    mutating func make(now: Int64) -> String {
        serial &+= 1
        let text = "\(String(max(now, 0), radix: 16))-\(String(serial, radix: 16))"
        if lastCounts.count >= Self.most { forget(now: now) }
        lastCounts[text] = 0
        return "\(text)-\(mark(text))"
    }

    /// Takes a use of a nonce: its count must be higher than all before.
    mutating func use(_ nonce: String, count: String, now: Int64) -> Finding {
        let parts = nonce.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let made = Int64(parts[0], radix: 16), let count = UInt32(count, radix: 16) else {
            return .malformed
        }
        let text = "\(parts[0])-\(parts[1])"
        guard ConstantTime.areEqual(Array(parts[2].utf8), Array(mark(text).utf8)) else { return .stale }
        guard made <= now, now - made < Self.lifetime, let last = lastCounts[text], count > last else { return .stale }
        lastCounts[text] = count
        return .good
    }

    private func mark(_ text: String) -> String { Hex.encode(Array(tag(Array(text.utf8)).prefix(16))) }

    /// Those that are too old go; when that is not enough, all do, and clients ask again.
    private mutating func forget(now: Int64) {
        lastCounts = lastCounts.filter { entry in
            let made = Int64(entry.key.prefix { $0 != "-" }, radix: 16) ?? 0
            return now - made < Self.lifetime
        }
        if lastCounts.count >= Self.most { lastCounts = [:] }
    }
}
