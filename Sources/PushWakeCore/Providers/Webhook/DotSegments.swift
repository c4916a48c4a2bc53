// SPDX-License-Identifier: MIT

/// Finds segments such as `..` in a path, in every form that a server or a proxy may make one of.
///
/// A path with a phone's token in it reaches the operator's server through others: each may resolve escapes once more, take
/// a backslash for a slash (WHATWG URL, 4.4), an overlong or fullwidth character for the plain one, and what stands behind
/// a semicolon for a parameter. What any of them could take for a step up is one here.
struct DotSegments {
    /// The path as far as it has been read, with nothing left in it to resolve.
    private var resolved: [UInt8] = []

    /// Whether a path, up to a `?`, has a segment of dots alone.
    static func arePresent(in target: [UInt8]) -> Bool {
        var path = DotSegments()
        path.resolved.reserveCapacity(target.count)
        for byte in target {
            if byte == UInt8(ascii: "?") { break }
            path.take(byte)
        }
        return path.resolved.split(whereSeparator: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") })
            .contains(where: isDots)
    }

    /// Whether a segment has dots and nothing else that would be looked up: query, parameters, blanks and controls are not.
    private static func isDots(_ segment: ArraySlice<UInt8>) -> Bool {
        let name = segment.prefix {
            $0 > 0x20 && $0 != ASCII.semicolon && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
        }
        return !name.isEmpty && name.allSatisfy { $0 == ASCII.dot }
    }

    /// What a byte completes takes the place of its parts, and may complete something itself: `%252e` is a dot.
    private mutating func take(_ byte: UInt8) {
        resolved.append(byte)
        while let (length, text) = escape() ?? sequence() {
            resolved.removeLast(length)
            resolved += text
        }
    }

    /// `%2E`, or `%u002E` as some servers of Microsoft's take it, at the end of what was read.
    private func escape() -> (length: Int, text: [UInt8])? {
        if let value = number(behind: [ASCII.percent], digits: 2) { return (3, [UInt8(truncatingIfNeeded: value)]) }
        for mark in [UInt8(ascii: "u"), UInt8(ascii: "U")] {
            guard let value = number(behind: [ASCII.percent, mark], digits: 4) else { continue }
            return (6, Unicode.Scalar(value).map { Array(String(Character($0)).utf8) } ?? [])
        }
        return nil
    }

    private func number(behind mark: [UInt8], digits: Int) -> UInt32? {
        guard resolved.count >= mark.count + digits, resolved.dropLast(digits).suffix(mark.count).elementsEqual(mark)
        else {
            return nil
        }
        var value: UInt32 = 0
        for byte in resolved.suffix(digits) {
            guard let digit = Hex.value(of: byte) else { return nil }
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    /// A character beyond ASCII at the end of what was read that stands for others within it.
    private func sequence() -> (length: Int, text: [UInt8])? {
        guard let last = resolved.last, last & 0xC0 == 0x80 else { return nil }
        let tail = resolved.suffix(4).reversed().prefix { $0 & 0xC0 == 0x80 }.count
        guard tail <= 3, let first = resolved.dropLast(tail).last, first.leadingZeroBitCount == 0,
            (~first).leadingZeroBitCount == tail + 1
        else { return nil }
        let head = UInt32(first & (0x3F >> UInt8(tail)))
        let value = resolved.suffix(tail).reduce(head) { $0 << 6 | UInt32($1 & 0x3F) }
        return Self.plain(value).map { (tail + 1, $0) }
    }

    /// What a character is taken for by decoders that allow overlong forms, by compatibility (Unicode, UAX #15), or by
    /// code pages that have nothing closer.
    private static func plain(_ value: UInt32) -> [UInt8]? {
        switch value {
        case 0...0x7F: [UInt8(truncatingIfNeeded: value)]
        case 0xFF01...0xFF5E: [UInt8(truncatingIfNeeded: value - 0xFEE0)]
        case 0x2024, 0xFE52, 0x3002, 0xFF61: [ASCII.dot]
        case 0x2025: [ASCII.dot, ASCII.dot]
        case 0x2026: [ASCII.dot, ASCII.dot, ASCII.dot]
        case 0x2044, 0x2215, 0x29F8: [UInt8(ascii: "/")]
        case 0x2216, 0x29F5, 0x29F9, 0xFE68: [UInt8(ascii: "\\")]
        case 0xFE54: [ASCII.semicolon]
        case 0xFE6A: [ASCII.percent]
        default: nil
        }
    }
}
