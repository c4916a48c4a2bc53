// SPDX-License-Identifier: MIT

/// Which bits stand for a user in a Bloom filter of those who have push bindings.
///
/// All bits of one user lie in one 64-bit word, so that a look costs one read of memory and a change is one atomic
/// step (a "blocked" filter: Putze, Sanders and Singler, 2007). With 32 bits per user one of 1,500 others is taken for
/// a user with bindings, with 16 bits one of 200; a filter is left for one of double size before that.
public struct BindingFilter: Equatable, Sendable {
    /// A word of the filter, and its bits that are all set when the user is in.
    public struct Probe: Equatable, Sendable {
        /// Less than `wordCount`.
        public let word: Int
        public let mask: UInt64
    }

    /// Words of the smallest filter: 16 kB.
    public static let fewestWords = 1 << 11
    /// Words of the largest: 128 MB, for 67 million users.
    public static let mostWords = 1 << 24
    private static let bitsPerUser = 32

    /// A power of two.
    public let wordCount: Int
    private let seed: UInt64

    /// Takes over a filter of so many words; nil when no filter has that many. The `seed` sets the filters apart.
    public init?(wordCount: Int, seed: UInt64) {
        guard wordCount > 0, wordCount <= Self.mostWords, wordCount & (wordCount - 1) == 0 else { return nil }
        self.wordCount = wordCount
        self.seed = seed
    }

    /// Fits a filter to so many users, with room for as many again.
    public init(users: Int, seed: UInt64) {
        let wanted = (min(max(users, 0), 2 * Self.mostWords) * Self.bitsPerUser + 63) / 64
        var words = Self.fewestWords
        while words < wanted && words < Self.mostWords { words *= 2 }
        wordCount = words
        self.seed = seed
    }

    /// Users that it is good for; nil when there is no larger one to go to.
    public var capacity: Int? { wordCount < Self.mostWords ? wordCount * 64 * 2 / Self.bitsPerUser : nil }

    /// The bits of a user; what is no UTF-8 is mended first, as it is where bindings are stored.
    public func probe(for aor: Span<UInt8>) -> Probe {
        var all: UInt8 = 0
        for index in aor.indices { all |= aor[index] }
        guard all >= 0x80 else { return probe(hash(aor)) }
        return probe(for: aor.text())
    }

    /// The bits of a user.
    public func probe(for aor: String) -> Probe { probe(hash(aor.utf8.span)) }

    private func probe(_ hash: UInt64) -> Probe {
        var mask: UInt64 = 0
        for index in 0..<UInt64(4) { mask |= 1 << (hash >> (6 * index) & 63) }
        return Probe(word: Int(truncatingIfNeeded: hash >> 24) & (wordCount - 1), mask: mask)
    }

    /// FNV-1a, and the last steps of MurmurHash3 so that each bit depends on all bytes.
    private func hash(_ bytes: Span<UInt8>) -> UInt64 {
        var hash = seed ^ 0xCBF2_9CE4_8422_2325
        for index in bytes.indices { hash = (hash ^ UInt64(bytes[index])) &* 0x0000_0100_0000_01B3 }
        hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
        hash = (hash ^ hash >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return hash ^ hash >> 33
    }
}
