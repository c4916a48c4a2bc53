// SPDX-License-Identifier: MIT

/// What may stand in a request's path and header fields, for values that a phone or a caller chose.
enum HeaderText {
    /// True for a path segment of characters that need no escape (RFC 3986, 3.3, without `%`).
    static func isPathSegment(_ text: String, atMost limit: Int) -> Bool {
        guard !text.isEmpty, text.utf8.count <= limit, text != ".", text != ".." else { return false }
        return text.utf8.allSatisfy(isPathCharacter)
    }

    /// True for visible ASCII (RFC 9110, 5.5).
    static func isFieldValue(_ text: String, atMost limit: Int = 255) -> Bool {
        !text.isEmpty && text.utf8.count <= limit && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    /// Appends `text` when it is a legal and short enough field value, else sixteen digits made from it.
    static func appendIdentifier(_ text: String, atMost limit: Int, to out: inout [UInt8]) {
        if isFieldValue(text, atMost: limit) {
            out.append(contentsOf: text.utf8)
        } else {
            let hash = Fingerprint.of(text.utf8)
            for shift in stride(from: UInt64(60), through: 0, by: -4) {
                out.append(Decimal.hexDigit(UInt8(truncatingIfNeeded: hash >> shift)))
            }
        }
    }

    private static func isPathCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~!$&'()*+,;=:@".utf8.contains(byte)
        }
    }
}
