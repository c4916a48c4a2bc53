// SPDX-License-Identifier: MIT

/// How often phones came when they were pushed for a call, and how often not, by the release of their app.
///
/// The release is the product and version of the User-Agent (RFC 3261, 20.41), without what stands behind them: that may
/// name the phone's owner. Which phone has which is kept in a table of fixed size, where a phone takes the place of
/// another one now and then: with many phones the counts are of a sample.
public struct AppVersions: Sendable {
    /// Calls for which phones of a release were pushed.
    public struct Count: Equatable, Sendable {
        /// `Linphone/5.2.1`; `other` for what is not known.
        public let version: String
        public fileprivate(set) var came = 0
        public fileprivate(set) var stayedAway = 0
    }

    static let rest = "other"
    static let most = 100
    static let longest = 48

    /// The first one stands for all that are not told apart.
    public private(set) var counts = [Count(version: AppVersions.rest)]
    /// User-Agents that came of late, with their places in `counts`.
    private var agents: [(agent: String, place: UInt8)]
    /// Above: a part of the hash of a phone, so that another one is not taken for it; below: its place in `counts`.
    private var phones: [UInt16]
    private let seed: UInt64

    /// Room for so many phones. Nobody outside knows the seed.
    public init(phones: Int = 1 << 18, seed: UInt64 = .random(in: 0...UInt64.max)) {
        self.phones = Array(repeating: 0, count: max(phones, 1))
        self.seed = seed
        agents = Array(repeating: ("", 0), count: 64)
    }

    /// The phone of a token has registered.
    public mutating func register(_ token: String, agent: String) {
        let mark = hash(of: token)
        let index = UInt16(place(of: agent))
        phones[slot(of: mark)] = Self.tag(of: mark) | index
    }

    /// The phone of a token was pushed for a call, and has registered in time or not.
    public mutating func count(_ token: String, came: Bool) {
        let mark = hash(of: token)
        let entry = phones[slot(of: mark)]
        let index = entry & 0xFF00 == Self.tag(of: mark) ? Int(entry & 0xFF) : 0
        if came { counts[index].came += 1 } else { counts[index].stayedAway += 1 }
    }

    /// Of the end of a text, where tokens and releases differ: each REGISTER is counted, which may cost little.
    private func hash(of text: String) -> UInt64 {
        var mark = seed
        let bytes = text.utf8.span
        for index in max(0, bytes.count - 16)..<bytes.count {
            mark = (mark ^ UInt64(bytes[index])) &* 0x100_0000_01B3
        }
        return mark
    }

    private func slot(of hash: UInt64) -> Int { Int(hash % UInt64(phones.count)) }

    private static func tag(of hash: UInt64) -> UInt16 { UInt16(truncatingIfNeeded: hash >> 48) & 0xFF00 }

    private mutating func place(of agent: String) -> UInt8 {
        let index = Int(hash(of: agent) % UInt64(agents.count))
        if agents[index].agent == agent { return agents[index].place }
        let version = Self.version(in: agent)
        var place = counts.firstIndex { $0.version == version } ?? 0
        if place == 0, version != Self.rest, counts.count < Self.most {
            place = counts.count
            counts.append(Count(version: version))
        }
        agents[index] = (agent, UInt8(place))
        return UInt8(place)
    }

    /// `Linphone/5.2.1` of `Linphone/5.2.1 (Alice's phone) SDK/5.3`, `PJSUA v2.13` of `PJSUA v2.13 Linux-6.1`.
    static func version(in agent: String) -> String {
        let words = agent.utf8.split(separator: 0x20, maxSplits: 2)
        guard let first = words.first else { return rest }
        let parts = first.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let shown: Substring.UTF8View
        if parts.count == 2, !parts[0].isEmpty, parts[1].contains(where: isDigit) {
            shown = first
        } else if words.count > 1, parts.count == 1, isVersion(words[1]) {
            shown = agent.utf8[first.startIndex..<words[1].endIndex]
        } else {
            return rest
        }
        let isPlain = shown.allSatisfy {
            isDigit($0) || ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7A || " /._+-".utf8.contains($0)
        }
        return isPlain && shown.count <= longest ? String(Substring(shown)) : rest
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    /// With a point: a number alone may be that of a telephone.
    private static func isVersion(_ word: Substring.UTF8View) -> Bool {
        let number = word.first == UInt8(ascii: "v") ? word.dropFirst() : word
        return number.first.map(isDigit) == true && number.contains(UInt8(ascii: "."))
    }
}
