// SPDX-License-Identifier: MIT

/// What may stand in a request's path and header fields, for values that a phone or a caller chose.
enum HeaderText {
    /// True for a path segment of characters that need no escape (RFC 3986, 3.3, without `%`).
    static func isPathSegment(_ text: String, atMost limit: Int) -> Bool {
        let bytes = text.utf8.span
        guard bytes.count > 0, bytes.count <= limit else { return false }
        // Tokens are letters and digits nearly always: that is told without a branch per byte.
        var others: UInt8 = 0
        for index in bytes.indices {
            let byte = bytes[index]
            let isLetter: UInt8 = (byte | 0x20) &- 0x61 < 26 ? 1 : 0
            let isDigit: UInt8 = byte &- 0x30 < 10 ? 1 : 0
            others |= (isLetter | isDigit) ^ 1
        }
        if others == 0 { return true }
        for index in bytes.indices where !isPathCharacter(bytes[index]) { return false }
        return text != "." && text != ".."
    }

    /// True for a path with query that can be sent as it is; the empty one stands for `/`.
    static func isTarget(_ text: String, atMost limit: Int = 2048) -> Bool {
        text.isEmpty || isFieldValue(text, atMost: limit) && text.utf8.first == UInt8(ascii: "/")
    }

    /// True for visible ASCII (RFC 9110, 5.5).
    static func isFieldValue(_ text: String, atMost limit: Int = 255) -> Bool {
        guard !text.isEmpty, text.utf8.count <= limit else { return false }
        let bytes = text.utf8.span
        for index in bytes.indices where bytes[index] <= 0x20 || bytes[index] >= 0x7F { return false }
        return true
    }

    /// True for a lower-case field name that a request may carry (RFC 9110, 5.6.2; RFC 9113, 8.2.2).
    static func isFieldName(_ name: String) -> Bool {
        guard !name.isEmpty, name.utf8.count <= 64, !connectionFields.contains(name) else { return false }
        return name.utf8.allSatisfy { byte in
            byte >= 0x61 && byte <= 0x7A || byte >= 0x30 && byte <= 0x39 || "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    private static let connectionFields: Set<String> = [
        "connection", "host", "content-length", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade",
    ]

    /// Appends `text` when it is a legal and short enough field value, else sixteen digits made from it.
    static func appendIdentifier(_ text: String, atMost limit: Int, to out: inout [UInt8]) {
        if isFieldValue(text, atMost: limit) {
            out.append(contentsOf: text.utf8)
        } else {
            Fingerprint.appendHex(of: text, to: &out)
        }
    }

    /// Letters, digits and `!$&'()*+,-.:;=@_~`, one bit per character.
    @inline(__always)
    private static func isPathCharacter(_ byte: UInt8) -> Bool {
        let half: UInt64 = byte < 0x40 ? 0x2FFF_7FD2_0000_0000 : 0x47FF_FFFE_87FF_FFFF
        return byte < 0x80 && half >> UInt64(byte & 0x3F) & 1 == 1
    }
}
