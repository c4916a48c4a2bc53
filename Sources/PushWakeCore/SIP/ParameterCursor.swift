// SPDX-License-Identifier: MIT

/// Walks the parameters of a URI or a header.
struct ParameterCursor: ~Escapable {
    private let bytes: Span<UInt8>
    private var cursor: Cursor
    private let place: Place

    /// Where the parameters stand: only those of a header can have quoted values.
    enum Place {
        case uri
        case header
    }

    /// Starts at the first parameter in `range`.
    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, in range: Range<Int>, of place: Place) {
        self.bytes = bytes
        cursor = Cursor(bytes, in: range)
        self.place = place
    }

    /// The URI has headers (`?…`), and the cursor has come to them.
    var isAtURIHeaders: Bool { place == .uri && cursor.peek() == ASCII.question }

    /// The next parameter that has a name; nil after the last.
    @_lifetime(self: copy self)
    mutating func next() -> Parameter? {
        while !cursor.isAtEnd, !isAtURIHeaders {
            cursor.skip { $0 == ASCII.semicolon || ASCII.isBlank($0) }
            let ending = place == .uri ? ASCII.question : ASCII.semicolon
            let name = cursor.trimmingBlanks(
                cursor.skip { $0 != ASCII.semicolon && $0 != ASCII.equals && $0 != ending })
            guard cursor.take(ASCII.equals) else {
                if name.isEmpty { continue }
                return Parameter(name: name, value: name.upperBound..<name.upperBound, form: .absent)
            }
            cursor.skipBlanks()
            let parameter = value(of: name)
            if !name.isEmpty { return parameter }
        }
        return nil
    }

    @_lifetime(self: copy self)
    private mutating func value(of name: Range<Int>) -> Parameter {
        if place == .header, cursor.peek() == ASCII.quote, let quoted = cursor.quotedString() {
            cursor.skip(to: ASCII.semicolon)
            return Parameter(name: name, value: quoted, form: .quoted)
        }
        let ending = place == .uri ? ASCII.question : ASCII.semicolon
        var value = cursor.trimmingBlanks(cursor.skip { $0 != ASCII.semicolon && $0 != ending })
        if place == .header { value = withoutStrayBracket(value) }
        return Parameter(name: name, value: value, form: .plain)
    }

    /// Some phones end a bare URI with the `>` of an angle bracket that they never opened.
    private func withoutStrayBracket(_ value: Range<Int>) -> Range<Int> {
        guard !value.isEmpty, bytes[value.upperBound &- 1] == ASCII.greater,
            !bytes.part(value).contains(where: { $0 == ASCII.less })
        else { return value }
        return value.lowerBound..<(value.upperBound &- 1)
    }
}

/// One `;name=value`: where its name and value are.
struct Parameter {
    let name: Range<Int>
    /// Without the quotes around it; empty when there is none.
    let value: Range<Int>
    let form: Form

    /// How the value is written.
    enum Form {
        /// `;name`
        case absent
        /// `;name=value`
        case plain
        /// `;name="value"`, backslashes still in it.
        case quoted
    }
}
