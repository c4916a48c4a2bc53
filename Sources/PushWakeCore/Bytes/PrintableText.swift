// SPDX-License-Identifier: MIT

/// Text from packets and providers, made fit for logs, tables and terminals.
///
/// It looks at bytes: a shortened token has a `…`, so that most log lines are more than ASCII.
public enum PrintableText {
    /// With `?` in the place of all that a terminal or a reader of lines would obey: C0 and C1 controls, DEL, the line
    /// and paragraph separators, and marks of writing direction (Unicode, "Bidi_Control").
    public static func cleaned(_ text: String) -> String {
        let bytes = text.utf8Span.span
        guard !bytes.isPrintableASCII, let first = bytes.indices.first(where: { obeyedBytes(bytes, $0) > 0 }) else {
            return text
        }
        var clean: [UInt8] = []
        clean.reserveCapacity(bytes.count)
        bytes.extracting(0..<first).append(to: &clean)
        var index = first
        while index < bytes.count {
            let obeyed = obeyedBytes(bytes, index)
            clean.append(obeyed > 0 ? UInt8(ascii: "?") : bytes[index])
            index += max(obeyed, 1)
        }
        return String(decoding: clean, as: UTF8.self)
    }

    /// A value of a `key=value` log line: cleaned, and quoted where it could pass for two; `-` when it is empty.
    public static func logValue(_ text: String) -> String {
        if text.isEmpty { return "-" }
        let clean = cleaned(text)
        let bytes = clean.utf8Span.span
        guard bytes.indices.contains(where: { bytes[$0] == UInt8(ascii: "\"") || isBlank(bytes, $0) }) else {
            return clean
        }
        var quoted: [UInt8] = [UInt8(ascii: "\"")]
        quoted.reserveCapacity(bytes.count + 8)
        for index in bytes.indices {
            if bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "\\") {
                quoted.append(UInt8(ascii: "\\"))
            }
            quoted.append(bytes[index])
        }
        quoted.append(UInt8(ascii: "\""))
        return String(decoding: quoted, as: UTF8.self)
    }

    /// The same in at most so many bytes, cut where it is longer; at least 5 are needed for a text that is cut.
    public static func logValue(_ text: String, most: Int) -> String {
        let whole = logValue(text)
        guard whole.utf8.count > most else { return whole }
        // With quotes and `…`, each byte may become two.
        var room = (most - 5) / 2
        var kept = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            room -= UTF8.width(scalar)
            if room < 0 { break }
            kept.append(scalar)
        }
        return logValue(String(kept) + "…")
    }

    /// How many bytes the character has that begins here, when it is one that is obeyed; else 0.
    private static func obeyedBytes(_ bytes: Span<UInt8>, _ index: Int) -> Int {
        switch bytes[index] {
        case ..<0x20, 0x7F: 1
        // U+0080 to U+009F
        case 0xC2: byte(bytes, index + 1) < 0xA0 ? 2 : 0
        // U+061C
        case 0xD8: byte(bytes, index + 1) == 0x9C ? 2 : 0
        case 0xE2:
            switch (byte(bytes, index + 1), byte(bytes, index + 2)) {
            // U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069
            case (0x80, 0x8E...0x8F), (0x80, 0xA8...0xAE), (0x81, 0xA6...0xA9): 3
            default: 0
            }
        default: 0
        }
    }

    /// Whether a blank begins here (Unicode, "White_Space"), those aside that are obeyed.
    private static func isBlank(_ bytes: Span<UInt8>, _ index: Int) -> Bool {
        switch bytes[index] {
        case 0x20: true
        // U+00A0
        case 0xC2: byte(bytes, index + 1) == 0xA0
        // U+1680
        case 0xE1: byte(bytes, index + 1) == 0x9A && byte(bytes, index + 2) == 0x80
        case 0xE2:
            switch (byte(bytes, index + 1), byte(bytes, index + 2)) {
            // U+2000 to U+200A, U+202F, U+205F
            case (0x80, 0x80...0x8A), (0x80, 0xAF), (0x81, 0x9F): true
            default: false
            }
        // U+3000
        case 0xE3: byte(bytes, index + 1) == 0x80 && byte(bytes, index + 2) == 0x80
        default: false
        }
    }

    private static func byte(_ bytes: Span<UInt8>, _ index: Int) -> UInt8 { index < bytes.count ? bytes[index] : 0xFF }
}

extension Span<UInt8> {
    /// Nothing but characters of ASCII that are printed, blanks included. Looks at all bytes, as `hasControls()` does.
    fileprivate var isPrintableASCII: Bool {
        var found: UInt8 = 0
        for index in indices { found |= self[index] &- 0x20 > 0x5E ? 1 : 0 }
        return found == 0
    }
}

/// A text in another, byte by byte. What Swift has for this compares characters, and brings a library of 1.3 MB.
extension StringProtocol {
    /// Where a text stands first; nil when it does not. An empty one stands at the begin.
    package func firstRange(of text: String) -> Range<String.Index>? {
        let (bytes, wanted) = (utf8, text.utf8)
        guard let first = wanted.first else { return startIndex..<startIndex }
        var start = bytes.startIndex
        while let found = bytes[start...].firstIndex(of: first) {
            if bytes[found...].starts(with: wanted) { return found..<bytes.index(found, offsetBy: wanted.count) }
            start = bytes.index(after: found)
        }
        return nil
    }

    /// Whether a text stands anywhere in it.
    package func contains(_ text: String) -> Bool { firstRange(of: text) != nil }
}
