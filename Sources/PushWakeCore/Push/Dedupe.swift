// SPDX-License-Identifier: MIT

/// Tells a push that was just sent: the same event to the same device within a window, or the same
/// request to the same token at all (a retransmission, a fork, a second proxy).
///
/// Remembers fingerprints, so that an entry costs 16 bytes; oldest first out when it is full.
public struct Dedupe: Sendable {
    /// Why a push is not sent.
    public enum Duplicate: Equatable, Sendable {
        /// This very request was pushed to this token.
        case sameRequest
        /// The device got one of this kind a moment ago; the next may go in so many milliseconds.
        case tooSoon(wait: Int64)
    }

    /// Milliseconds that a request is remembered; longer than any call is held.
    private static let requestMemory: Int64 = 180_000

    private let window: Int64
    private let capacity: Int
    private let seed: UInt64
    private var ends: [UInt64: Int64] = [:]
    /// Fingerprints in order of arrival; each is in `ends` or was replaced there.
    private var order = RingBuffer<(key: UInt64, end: Int64)>()

    /// `window` in milliseconds, twice as long for messages, 0 for none; `seed` keeps callers from
    /// making Call-IDs that collide.
    public init(window: Int64, capacity: Int = 100_000, seed: UInt64) {
        self.window = min(max(window, 0), 3_600_000)
        self.capacity = max(capacity, 2)
        self.seed = seed
    }

    /// Notes a push at `now` (milliseconds) and says whether it is a duplicate; one that is is not noted again.
    public mutating func note(_ binding: Binding, _ content: PushContent, now: Int64) -> Duplicate? {
        forget(now: now)
        let token = token(of: binding, content.event)
        let request = content.callID.isEmpty ? nil : fingerprint(content.callID, token)
        if let request, isKnown(request, now) { return .sameRequest }
        if window > 0, content.event != .custom {
            let device = device(of: binding, content.event)
            if let end = ends[device], end > now { return .tooSoon(wait: end - now) }
            remember(device, until: now + window * (content.event.isMessage ? 2 : 1))
        }
        if let request { remember(request, until: now + Self.requestMemory) }
        return nil
    }

    /// The turn of a device for this kind of push; nil for a kind that has no window.
    public func turn(of binding: Binding, _ event: PushEvent) -> LimitKey? {
        window > 0 && event != .custom ? .window(device(of: binding, event)) : nil
    }

    /// Milliseconds for which `note` would call this push too soon; 0 when it would not. Notes nothing.
    public func pause(_ binding: Binding, _ content: PushContent, now: Int64) -> Int64 {
        guard case .window(let device)? = turn(of: binding, content.event), let end = ends[device], end > now else {
            return 0
        }
        let isSameRequest =
            !content.callID.isEmpty && isKnown(fingerprint(content.callID, token(of: binding, content.event)), now)
        return isSameRequest ? 0 : end - now
    }

    /// The device has registered: what comes next may push it at once, should it fall asleep again.
    public mutating func release(_ binding: Binding) {
        guard window > 0, !ends.isEmpty else { return }
        for event in PushEvent.allCases { ends[device(of: binding, event)] = nil }
    }

    /// Entries in memory.
    public var count: Int { ends.count }

    private func token(of binding: Binding, _ event: PushEvent) -> UInt64 {
        fingerprint(binding.token, seed ^ UInt64(binding.provider.rawValue) << 8 ^ UInt64(event.rawValue))
    }

    private func device(of binding: Binding, _ event: PushEvent) -> UInt64 {
        let device =
            binding.instance.isEmpty
            ? token(of: binding, event) : fingerprint(binding.instance, seed ^ UInt64(event.rawValue) ^ 0x5A5A_0000)
        return fingerprint(binding.aor, device)
    }

    private func fingerprint(_ text: String, _ seed: UInt64) -> UInt64 { Fingerprint.of(text, from: seed) }

    private func isKnown(_ key: UInt64, _ now: Int64) -> Bool { ends[key].map { $0 > now } ?? false }

    private mutating func remember(_ key: UInt64, until end: Int64) {
        ends[key] = end
        order.append((key, end))
    }

    /// Drops what is over, a few per call, and the oldest when there is too much.
    private mutating func forget(now: Int64) {
        var budget = 4
        while let entry = order.first, budget > 0 || order.count > capacity {
            guard entry.end <= now || order.count > capacity else { break }
            if ends[entry.key] == entry.end { ends[entry.key] = nil }
            _ = order.popFirst()
            budget -= 1
        }
    }
}

/// 64 bits that stand for a text: FNV-1a with a final mix. No secret, no protection against an attacker.
package enum Fingerprint {
    /// The fingerprint of a text, continuing from another one.
    package static func of(_ text: String, from seed: UInt64 = 0xCBF2_9CE4_8422_2325) -> UInt64 {
        let bytes = text.utf8Span.span
        var hash = seed
        for index in bytes.indices { hash = (hash ^ UInt64(bytes[index])) &* 0x0000_0100_0000_01B3 }
        hash ^= hash >> 32
        return hash &* 0x9E37_79B9_7F4A_7C15
    }

    /// Appends the fingerprint of a text as sixteen hexadecimal digits.
    static func appendHex(of text: String, to out: inout [UInt8]) {
        let hash = of(text)
        for index in UInt64(0)..<16 { out.append(Hex.digit(UInt8(truncatingIfNeeded: hash >> (60 - 4 * index)))) }
    }
}
