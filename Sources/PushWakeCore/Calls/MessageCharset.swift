// SPDX-License-Identifier: MIT

/// What the bytes of a text mean, by the charset of its Content-Type (RFC 2046, 4.1.2).
enum MessageCharset: Equatable {
    /// RFC 3428, 9 wants UTF-8, of which ASCII is a part. Who says no more than that, or nothing, may have written windows-1252.
    case utf8
    /// And ISO 8859-1, which is a part of it.
    case windows1252
    /// Big-endian unless a byte order mark says else (RFC 2781, 4.3).
    case utf16
    case utf16BigEndian
    case utf16LittleEndian
    /// Another one: at least what is ASCII can be read.
    case unknown

    init(contentType: String) {
        switch MessageBody.parameter("charset", of: contentType)?.lowercased() {
        case nil, "", "utf-8", "utf8", "us-ascii", "ascii": self = .utf8
        case "windows-1252", "cp1252", "x-cp1252", "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "l1":
            self = .windows1252
        case "utf-16": self = .utf16
        case "utf-16be": self = .utf16BigEndian
        case "utf-16le": self = .utf16LittleEndian
        default: self = .unknown
        }
    }

    /// U+FFFD stands in place of what makes no sense.
    func text(of bytes: Span<UInt8>) -> String {
        switch self {
        case .utf8: return bytes.textOrWindows1252()
        case .windows1252: return Windows1252.text(of: bytes)
        case .unknown: return bytes.text()
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
