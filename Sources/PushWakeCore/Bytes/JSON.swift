// SPDX-License-Identifier: MIT

/// A parsed JSON document. The transport layer reads it with jansson, so that answers of
/// providers can be checked here without a C type in sight.
public enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// Members keep the order of the text.
    public struct Member: Equatable, Sendable {
        /// As in the text, escapes resolved.
        public let name: String
        /// What stands after the colon.
        public let value: JSONValue

        /// Pairs a name with a value.
        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// First member under a name; nil when this is not an object.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The text; nil when this is none.
    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The number without its fraction; nil when this is none.
    public var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int64(exactly: value.rounded(.towardZero))
        default: nil
        }
    }

    /// The items; nil when this is not an array.
    public var array: [JSONValue]? {
        guard case .array(let items) = self else { return nil }
        return items
    }
}

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
