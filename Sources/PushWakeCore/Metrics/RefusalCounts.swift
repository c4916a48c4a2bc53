// SPDX-License-Identifier: MIT

/// How often a push service has refused pushes, by the word that it gave as its reason.
///
/// Services may say what they like: so many words are told apart, and the rest is counted as `other`.
public struct RefusalCounts: Equatable, Sendable {
    static let most = 30
    static let longest = 40
    static let rest = "other"

    /// By the reason.
    public private(set) var counts: [String: Int] = [:]

    public init() {}

    /// Counts one; `reason` is the service's text, of which the first word counts.
    public mutating func add(_ reason: String) {
        let word = Self.word(of: reason)
        counts[counts[word] != nil || counts.count < Self.most ? word : Self.rest, default: 0] += 1
    }

    /// `PERMISSION_DENIED` of `PERMISSION_DENIED: the caller has not …`.
    static func word(of reason: String) -> String {
        let word = reason.utf8.prefix {
            $0 >= 0x30 && $0 <= 0x39 || ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7A || $0 == 0x5F || $0 == 0x2D
        }
        return word.isEmpty || word.count > longest ? rest : String(Substring(word))
    }
}
