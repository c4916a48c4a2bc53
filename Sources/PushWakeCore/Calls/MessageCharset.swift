// SPDX-License-Identifier: MIT

/// What the bytes of a text mean, by the charset of its Content-Type (RFC 2046, 4.1.2).
enum MessageCharset: Equatable {
    /// RFC 3428, 9 wants UTF-8; ASCII is part of it, and what is not known is read as it.
    case utf8
    /// ISO 8859-1: each byte is the character of its number.
    case latin1
    /// Big-endian unless a byte order mark says else (RFC 2781, 4.3).
    case utf16
    case utf16BigEndian
    case utf16LittleEndian

    init(contentType: String) {
        switch MessageBody.parameter("charset", of: contentType)?.lowercased() {
        case "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1": self = .latin1
        case "utf-16": self = .utf16
        case "utf-16be": self = .utf16BigEndian
        case "utf-16le": self = .utf16LittleEndian
        default: self = .utf8
        }
    }

    /// U+FFFD stands in place of what makes no sense.
    func text(of bytes: Span<UInt8>) -> String {
        switch self {
        case .utf8: return bytes.text()
        case .latin1:
            var text = ""
            for index in bytes.indices { text.unicodeScalars.append(Unicode.Scalar(bytes[index])) }
            return text
        case .utf16BigEndian: return Self.utf16(bytes, lowByte: 1)
        case .utf16LittleEndian: return Self.utf16(bytes, lowByte: 0)
        case .utf16:
            let isLittleEndian = bytes.count >= 2 && bytes[0] == 0xFF && bytes[1] == 0xFE
            return Self.utf16(bytes, lowByte: isLittleEndian ? 0 : 1)
        }
    }

    /// A byte order mark is no part of the text, and half a unit at the end is none.
    private static func utf16(_ bytes: Span<UInt8>, lowByte: Int) -> String {
        var units: [UInt16] = []
        units.reserveCapacity(bytes.count / 2)
        for start in stride(from: 0, to: bytes.count &- 1, by: 2) {
            units.append(UInt16(bytes[start &+ 1 &- lowByte]) << 8 | UInt16(bytes[start &+ lowByte]))
        }
        let byteOrderMark: UInt16 = 0xFEFF
        return String(decoding: units.first == byteOrderMark ? units.dropFirst() : units[...], as: UTF16.self)
    }
}
