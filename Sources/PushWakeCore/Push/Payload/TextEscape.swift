// SPDX-License-Identifier: MIT

internal import PushWakeBytes

/// The dress a value wears for the place it stands in, so that no caller name can break out of it.
public enum TextEscape: Sendable {
    /// Inside a JSON string (RFC 8259, 7).
    case json
    /// Inside a URL's path or query, or a form body: all but the unreserved characters (RFC 3986, 2.3).
    case percent
    /// As is; controls become spaces, so that a header or a text line stays one.
    case line

    /// The most bytes that one becomes.
    private static let longestEscape = 6

    /// Appends `text`, escaped. A `String` is valid UTF-8 by construction, so the result is too.
    func append(_ text: String, to out: inout [UInt8]) { append(text.utf8.span, to: &out) }

    /// Appends bytes of a text, escaped.
    func append(_ bytes: Span<UInt8>, to out: inout [UInt8]) {
        out.append(addingCapacity: bytes.count &* Self.longestEscape) { (end: inout OutputSpan<UInt8>) in
            append(bytes, to: &end)
        }
    }

    /// Appends `text`, escaped; leaves no room where there was too little.
    func append(_ text: String, to out: inout OutputSpan<UInt8>) { append(text.utf8.span, to: &out) }

    /// The same for bytes of a text.
    func append(_ bytes: Span<UInt8>, to out: inout OutputSpan<UInt8>) {
        switch self {
        case .json: Self.appendJSON(bytes, to: &out)
        case .percent: Self.appendPercent(bytes, to: &out)
        case .line: Self.appendLine(bytes, to: &out)
        }
    }

    private static func appendJSON(_ bytes: Span<UInt8>, to out: inout OutputSpan<UInt8>) {
        if out.append(copying: bytes, unlessControlOr: UInt8(ascii: "\""), or: UInt8(ascii: "\\")) { return }
        for index in bytes.indices {
            let byte = bytes[index]
            if isSpecial(byte) {
                appendEscape(of: byte, to: &out)
            } else {
                out.append(ifRoom: byte)
            }
        }
    }

    @inline(__always)
    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private static func appendEscape(of byte: UInt8, to out: inout OutputSpan<UInt8>) {
        out.append(ifRoom: UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): out.append(ifRoom: byte)
        case 0x0A: out.append(ifRoom: UInt8(ascii: "n"))
        case 0x0D: out.append(ifRoom: UInt8(ascii: "r"))
        case 0x09: out.append(ifRoom: UInt8(ascii: "t"))
        default:
            out.append(ifRoom: UInt8(ascii: "u"))
            out.append(ifRoom: UInt8(ascii: "0"))
            out.append(ifRoom: UInt8(ascii: "0"))
            appendHex(byte, to: &out)
        }
    }

    private static func appendPercent(_ bytes: Span<UInt8>, to out: inout OutputSpan<UInt8>) {
        for index in bytes.indices {
            let byte = bytes[index]
            if isUnreserved(byte) {
                out.append(ifRoom: byte)
            } else {
                out.append(ifRoom: UInt8(ascii: "%"))
                appendHex(byte, to: &out)
            }
        }
    }

    private static func appendLine(_ bytes: Span<UInt8>, to out: inout OutputSpan<UInt8>) {
        for index in bytes.indices {
            let byte = bytes[index]
            out.append(ifRoom: byte < 0x20 || byte == 0x7F ? 0x20 : byte)
        }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func appendHex(_ byte: UInt8, to out: inout OutputSpan<UInt8>) {
        out.append(ifRoom: capitalDigit(byte >> 4))
        out.append(ifRoom: capitalDigit(byte & 0x0F))
    }

    /// Capitals, as RFC 3986, 2.1 prefers; JSON takes either.
    private static func capitalDigit(_ value: UInt8) -> UInt8 {
        let digit = Hex.digit(value)
        return digit > UInt8(ascii: "9") ? digit & 0xDF : digit
    }
}
