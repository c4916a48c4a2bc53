// SPDX-License-Identifier: MIT

internal import PushWakeBytes

/// A UUID that follows from a name, version 5 (RFC 9562, 5.5): who knows the name space and the name makes the same one.
struct NameUUID: Equatable, Sendable {
    /// The first eight bytes.
    let high: UInt64
    /// The last eight bytes.
    let low: UInt64

    /// Takes the bytes of a UUID as they are.
    init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    /// Makes the UUID of a name.
    init(of name: Span<UInt8>, in space: NameUUID) {
        let digest = SHA1.digest(of: name, behind: (space.high, space.low))
        high = digest.0 & ~0xF000 | 0x5000
        low = digest.1 & ~(0b11 << 62) | 0b10 << 62
    }

    /// Its digits in small letters, and the hyphens between them.
    var text: InlineArray<36, UInt8> {
        var text = InlineArray<36, UInt8>(repeating: UInt8(ascii: "-"))
        var place = 0
        for index in 0..<16 {
            if index == 4 || index == 6 || index == 8 || index == 10 { place &+= 1 }
            let half = index < 8 ? high : low
            let byte = UInt8(truncatingIfNeeded: half &>> UInt64(truncatingIfNeeded: 56 &- 8 &* (index & 7)))
            text[place] = Hex.digit(byte &>> 4)
            text[place &+ 1] = Hex.digit(byte)
            place &+= 2
        }
        return text
    }
}

/// SHA-1 (RFC 3174), which names things here and protects nothing.
enum SHA1 {
    /// The first sixteen bytes of the digest of two words and the bytes behind them.
    static func digest(of bytes: Span<UInt8>, behind start: (UInt64, UInt64)) -> (UInt64, UInt64) {
        var state: State = (0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0)
        let length = 16 + bytes.count
        var block = Block(repeating: 0)
        block[0] = UInt32(truncatingIfNeeded: start.0 >> 32)
        block[1] = UInt32(truncatingIfNeeded: start.0)
        block[2] = UInt32(truncatingIfNeeded: start.1 >> 32)
        block[3] = UInt32(truncatingIfNeeded: start.1)
        // By the word, and what is left of one: each push has the name of its call.
        var (index, place) = (0, 4)
        while index &+ 4 <= bytes.count {
            block[place] =
                UInt32(bytes[index]) &<< 24 | UInt32(bytes[index &+ 1]) &<< 16 | UInt32(bytes[index &+ 2]) &<< 8
                | UInt32(bytes[index &+ 3])
            (index, place) = (index &+ 4, (place &+ 1) & 15)
            if place == 0 { next(&block, &state) }
        }
        for rest in index..<bytes.count {
            block[place] |= UInt32(bytes[rest]) &<< UInt32(truncatingIfNeeded: 24 &- 8 &* (rest & 3))
        }
        block[(length >> 2) & 15] |= 0x80 << UInt32(24 - 8 * (length & 3))
        if length & 63 >= 56 { next(&block, &state) }
        block[14] = UInt32(truncatingIfNeeded: length >> 29)
        block[15] = UInt32(truncatingIfNeeded: length << 3)
        next(&block, &state)
        return (
            UInt64(state.0) << 32 | UInt64(state.1), UInt64(state.2) << 32 | UInt64(state.3)
        )
    }

    private typealias State = (UInt32, UInt32, UInt32, UInt32, UInt32)
    private typealias Block = InlineArray<16, UInt32>

    /// Takes a block into the state and empties it (RFC 3174, 6.2).
    private static func next(_ block: inout Block, _ state: inout State) {
        var words = InlineArray<80, UInt32>(repeating: 0)
        for place in 0..<16 { words[place] = block[place] }
        for place in 16..<80 {
            words[place] = rotated(
                words[place &- 3] ^ words[place &- 8] ^ words[place &- 14] ^ words[place &- 16], by: 1)
        }
        var mixed = state
        rounds(0..<20, words.span, 0x5A82_7999, &mixed) { b, c, d in d ^ (b & (c ^ d)) }
        rounds(20..<40, words.span, 0x6ED9_EBA1, &mixed) { b, c, d in b ^ c ^ d }
        rounds(40..<60, words.span, 0x8F1B_BCDC, &mixed) { b, c, d in b & c | d & (b | c) }
        rounds(60..<80, words.span, 0xCA62_C1D6, &mixed) { b, c, d in b ^ c ^ d }
        state = (state.0 &+ mixed.0, state.1 &+ mixed.1, state.2 &+ mixed.2, state.3 &+ mixed.3, state.4 &+ mixed.4)
        block = Block(repeating: 0)
    }

    /// Five rounds bring each value back to its place.
    @inline(__always)
    private static func rounds(
        _ places: Range<Int>, _ words: Span<UInt32>, _ constant: UInt32, _ state: inout State,
        _ mix: (UInt32, UInt32, UInt32) -> UInt32
    ) {
        var (a, b, c, d, e) = state
        var place = places.lowerBound
        while place < places.upperBound {
            round(mix(b, c, d) &+ constant &+ words[place], a, &b, &e)
            round(mix(a, b, c) &+ constant &+ words[place &+ 1], e, &a, &d)
            round(mix(e, a, b) &+ constant &+ words[place &+ 2], d, &e, &c)
            round(mix(d, e, a) &+ constant &+ words[place &+ 3], c, &d, &b)
            round(mix(c, d, e) &+ constant &+ words[place &+ 4], b, &c, &a)
            place &+= 5
        }
        state = (a, b, c, d, e)
    }

    @inline(__always)
    private static func round(_ mixed: UInt32, _ a: UInt32, _ b: inout UInt32, _ e: inout UInt32) {
        e = e &+ rotated(a, by: 5) &+ mixed
        b = rotated(b, by: 30)
    }

    @inline(__always)
    private static func rotated(_ word: UInt32, by bits: UInt32) -> UInt32 { word &<< bits | word &>> (32 &- bits) }
}
