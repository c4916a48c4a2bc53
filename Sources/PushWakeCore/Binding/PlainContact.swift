// SPDX-License-Identifier: MIT

internal import PushWakeBytes

/// A Contact as a phone without push sends it as a rule: one URI in brackets, with no parameter that may be about push,
/// nothing long, and nothing that could be read in two ways. Most REGISTERs have one, so it is seen at one walk.
enum PlainContact {
    private enum Part { case uri, parameters, text }

    static func isOne(_ value: Span<UInt8>) -> Bool {
        guard value.count <= SIPLimits.longestName, value.count > 2, value[0] == ASCII.less, value[1] != ASCII.greater
        else {
            return false
        }
        var (part, start) = (Part.uri, 1)
        while start < value.count {
            let isWhole = start &+ 8 <= value.count
            var marks = marks(in: isWhole ? value.word(at: start) : value.extracting(start...).shortWord)
            while marks != 0 {
                let index = start &+ marks.trailingZeroBitCount / 8
                marks &= marks &- 1
                guard index < value.count else { break }
                guard isPlain(value, at: index, &part) else { return false }
            }
            start &+= 8
        }
        return part == .parameters
    }

    /// Whether a byte that may mean something does not keep the Contact from being plain.
    @inline(__always)
    private static func isPlain(_ value: Span<UInt8>, at index: Int, _ part: inout Part) -> Bool {
        let byte = value[index]
        switch (byte, part) {
        case _ where ByteClass.plainContact.contains(byte): return true
        case (0x20..., .text) where byte != ASCII.quote && !ASCII.isControl(byte): return true
        case (ASCII.semicolon, _): return !mayBeginPushName(value, at: index &+ 1)
        case (ASCII.quote, .parameters) where value[index &- 1] == ASCII.equals:
            part = .text
            return true
        case (ASCII.quote, .text) where value[index &- 1] == ASCII.backslash: return false
        case (ASCII.greater, .uri), (ASCII.quote, .text):
            part = .parameters
            return index &+ 1 >= value.count || value[index &+ 1] == ASCII.semicolon
        default: return false
        }
    }

    /// The high bits of bytes below `-`, from `;` to `?`, and of what is not visible ASCII: all that is not
    /// `ByteClass.plainContact`, and a little more.
    @inline(__always)
    private static func marks(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let low = word & (ones &* 0x7F)
        /// High bits of bytes that are not less.
        func from(_ byte: UInt64) -> UInt64 { low &+ ones &* (0x80 &- byte) }
        let found = ~from(0x2D) | from(0x3B) & ~from(0x40) | from(0x7F) | word
        return found & (ones &* 0x80)
    }

    /// By its first two letters (`PushParameterName.isAboutPush`), or as a name that begins with a blank or not at all.
    private static func mayBeginPushName(_ value: Span<UInt8>, at index: Int) -> Bool {
        guard index &+ 1 < value.count else { return true }
        return switch (ASCII.lowercased(value[index]), ASCII.lowercased(value[index &+ 1])) {
        case (UInt8(ascii: "p"), UInt8(ascii: "n")), (UInt8(ascii: "p"), UInt8(ascii: "u")),
            (UInt8(ascii: "a"), UInt8(ascii: "p")), (UInt8(ascii: "x"), UInt8(ascii: "-")),
            (UInt8(ascii: "s"), UInt8(ascii: "e")), (UInt8(ascii: "d"), UInt8(ascii: "e")):
            true
        default: false
        }
    }
}
