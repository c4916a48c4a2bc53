// SPDX-License-Identifier: MIT

/// Writes JSON for machines: compact, members in the order given, always valid (RFC 8259).
public struct JSONWriter: Sendable {
    /// What is written so far.
    public private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// Starts with nothing.
    public init() {}

    /// Writes an object whose members `fill` writes.
    public mutating func object(_ fill: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "{"))
        fill(&self)
        close(UInt8(ascii: "}"))
    }

    /// Writes an array whose items `fill` writes.
    public mutating func array(_ fill: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "["))
        fill(&self)
        close(UInt8(ascii: "]"))
    }

    /// Writes the name of a member; its value comes next.
    public mutating func name(_ name: String) {
        string(name)
        bytes.append(ASCII.colon)
        needsComma = false
    }

    /// Writes a text.
    public mutating func string(_ text: String) { string(text.utf8.span) }

    /// Writes a text of raw bytes, U+FFFD in place of what is no UTF-8.
    public mutating func string(_ text: Span<UInt8>) {
        separate()
        if (try? UTF8Span(validating: text)) != nil {
            quote(text)
        } else {
            quote(text.text().utf8.span)
        }
    }

    /// Writes a text, or null.
    public mutating func string(orNull text: String?) {
        if let text { string(text) } else { null() }
    }

    /// Writes a number.
    public mutating func integer(_ value: Int64) {
        separate()
        bytes.append(contentsOf: String(value).utf8)
    }

    /// Writes `true` or `false`.
    public mutating func bool(_ value: Bool) {
        separate()
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    /// Writes `null`.
    public mutating func null() {
        separate()
        bytes.append(contentsOf: "null".utf8)
    }

    /// Writes a value that is JSON already.
    public mutating func value(_ json: [UInt8]) {
        separate()
        bytes.append(contentsOf: json)
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(ASCII.comma) }
        needsComma = true
    }

    private mutating func quote(_ text: Span<UInt8>) {
        bytes.append(ASCII.quote)
        for index in text.indices {
            let byte = text[index]
            switch byte {
            case ASCII.quote, ASCII.backslash:
                bytes.append(ASCII.backslash)
                bytes.append(byte)
            case 0..<0x20, 0x7F:
                bytes.append(contentsOf: "\\u00".utf8)
                bytes.append(Hex.digit(byte &>> 4))
                bytes.append(Hex.digit(byte))
            default:
                bytes.append(byte)
            }
        }
        bytes.append(ASCII.quote)
    }
}
