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
