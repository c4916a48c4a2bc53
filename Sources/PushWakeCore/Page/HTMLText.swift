// SPDX-License-Identifier: MIT

/// Writes HTML in which every value is text: what comes from a packet cannot become markup.
public struct HTMLText: Sendable {
    /// What is written so far.
    public private(set) var text = ""

    /// Begins with nothing.
    public init() {}

    /// Writes markup of our own, as it stands.
    public mutating func markup(_ own: StaticString) { text += own.description }

    /// Writes a value as text: markup's characters are escaped, controls and marks of writing direction become `?`.
    public mutating func value(_ value: String) { text += Self.escaped(value) }

    /// Writes lines as text, each escaped as a value is.
    public mutating func lines(_ lines: [String]) {
        text += lines.map(Self.escaped).joined(separator: "\n")
    }

    /// Writes `name="value"` after a blank.
    public mutating func attribute(_ name: StaticString, _ value: String) {
        text += " \(name)=\"\(Self.escaped(value))\""
    }

    /// Writes an element with a value in it.
    public mutating func element(_ name: StaticString, _ value: String, class style: StaticString = "") {
        text += style.utf8CodeUnitCount == 0 ? "<\(name)>" : "<\(name) class=\"\(style)\">"
        text += Self.escaped(value)
        text += "</\(name)>"
    }

    /// Writes a link to a search for a user or a Call-ID, which is the text unless another is given.
    public mutating func search(_ shown: String, linkedTo name: String? = nil) {
        link(shown, to: PageQuery.place(of: name ?? shown))
    }

    /// Writes a link to a place of this page.
    public mutating func link(_ shown: String, to place: String) {
        text += "<a"
        attribute("href", place)
        text += ">\(Self.escaped(shown))</a>"
    }

    /// Writes a choice of a form.
    public mutating func option(_ value: String, _ shown: String, isChosen: Bool) {
        text += "<option"
        attribute("value", value)
        text += isChosen ? " selected>" : ">"
        text += "\(Self.escaped(shown))</option>"
    }

    /// The five characters that end a text or an attribute (HTML, 13.1.2.4).
    static func escaped(_ value: String) -> String {
        var out = ""
        for character in PrintableText.cleaned(value).unicodeScalars {
            switch character {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            case "\"": out += "&quot;"
            case "'": out += "&#39;"
            default: out.unicodeScalars.append(character)
            }
        }
        return out
    }

    /// A value in a query: everything but letters, digits and `-._~` as %XX (RFC 3986, 2.3).
    static func queryEscaped(_ value: String) -> String {
        var out: [UInt8] = []
        for byte in value.utf8 {
            let isPlain =
                byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || [0x2D, 0x2E, 0x5F, 0x7E].contains(byte)
            if isPlain { out.append(byte) } else { out += [0x25, Hex.digit(byte >> 4), Hex.digit(byte)] }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
