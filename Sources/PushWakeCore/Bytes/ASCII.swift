// SPDX-License-Identifier: MIT

/// Names of single bytes, and what is asked of them most.
enum ASCII {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let quote = UInt8(ascii: "\"")
    static let backslash = UInt8(ascii: "\\")
    static let percent = UInt8(ascii: "%")
    static let comma = UInt8(ascii: ",")
    static let colon = UInt8(ascii: ":")
    static let semicolon = UInt8(ascii: ";")
    static let equals = UInt8(ascii: "=")
    static let less = UInt8(ascii: "<")
    static let greater = UInt8(ascii: ">")
    static let question = UInt8(ascii: "?")
    static let at = UInt8(ascii: "@")
    static let star = UInt8(ascii: "*")
    static let ampersand = UInt8(ascii: "&")
    static let dot = UInt8(ascii: ".")

    /// Space or tab.
    @inline(__always)
    static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    /// A control byte, DEL included, tab not.
    @inline(__always)
    static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != tab || byte == 0x7F }

    /// The small letter of a capital one; every other byte as it is.
    @inline(__always)
    static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
}

/// A set of ASCII bytes in two words: a test costs a shift, no table and no branch on the byte.
struct ByteClass: Sendable {
    private let low: UInt64
    private let high: UInt64

    private init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        let word = byte < 64 ? low : high
        return byte < 128 && word &>> UInt64(byte & 63) & 1 == 1
    }

    /// Says whether every byte of `text` is in the class.
    func containsAll(of text: String) -> Bool {
        let bytes = text.utf8.span
        for index in bytes.indices where !contains(bytes[index]) { return false }
        return true
    }

    /// `token` of RFC 3261, 25.1.
    static let token = ByteClass(low: 0x03FF_6CA2_0000_0000, high: 0x47FF_FFFF_87FF_FFFE)
    /// `tag-value` of RFC 3840, 9, without its leading `!`: what a feature-capability may hold.
    static let tagValue = ByteClass(low: 0x03FF_6CA0_0000_0000, high: 0x47FF_FFFF_87FF_FFFE)
    /// Digits and letters of hexadecimal.
    static let hex = ByteClass(low: 0x03FF_0000_0000_0000, high: 0x0000_007E_0000_007E)
    /// 0 to 9.
    static let digit = ByteClass(low: 0x03FF_0000_0000_0000, high: 0)
    /// Bundle ids, packages and projects: letters, digits, `.`, `_`, `-`, `:`.
    static let app = ByteClass(low: 0x07FF_6000_0000_0000, high: 0x07FF_FFFE_87FF_FFFE)
    /// What never has to be escaped in a URL (RFC 3986, 2.3).
    static let unreserved = ByteClass(low: 0x03FF_6000_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
    /// What may stand in a path segment unescaped and in an Apple token: unreserved (RFC 3986, 2.3) and `:`.
    static let appleToken = ByteClass(low: 0x07FF_6000_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
    /// Visible ASCII that no JSON string and no log line has to escape.
    static let plainText = ByteClass(low: 0xAFFF_FFFA_0000_0000, high: 0x47FF_FFFE_AFFF_FFFF)
    /// A URL without fragment (RFC 3986, 2).
    static let url = ByteClass(low: 0xAFFF_FFF2_0000_0000, high: 0x47FF_FFFE_AFFF_FFFF)
    /// What stands unescaped in the value of a URI's parameter: `paramchar` (RFC 3261, 25.1).
    static let uriParameter = ByteClass(low: 0x07FF_EFD2_0000_0000, high: 0x47FF_FFFE_AFFF_FFFE)
    /// What means nothing by itself in a Contact: visible ASCII without `"`, `,`, `;`, `<` and `>`.
    static let plainContact = ByteClass(low: 0xA7FF_EFFA_0000_0000, high: 0x7FFF_FFFF_FFFF_FFFF)
    /// Host names, addresses and ports.
    static let host = ByteClass(low: 0x07FF_6000_0000_0000, high: 0x07FF_FFFE_AFFF_FFFE)
}
