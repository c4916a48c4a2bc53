// SPDX-License-Identifier: MIT

/// Walks the contacts of one Contact header value: `*`, or name-addr and addr-spec with
/// parameters, several of them separated by commas (RFC 3261, 20.10).
struct ContactCursor: ~Escapable {
    private let bytes: Span<UInt8>
    private var cursor: Cursor

    /// What is wrong with a value; nothing after it is read.
    enum Failure: Error {
        /// A display name or parameter begins with a quote that never ends.
        case openQuote
        /// `<` without `>`.
        case openURI
        /// No URI where one must be.
        case noURI
    }

    /// Starts at the first contact. The value must be in one line.
    @_lifetime(copy value)
    init(_ value: Span<UInt8>) {
        bytes = value
        cursor = Cursor(value)
    }

    /// The next contact; nil after the last.
    @_lifetime(self: copy self)
    mutating func next() throws(Failure) -> ContactElement? {
        cursor.skip { ASCII.isBlank($0) || $0 == ASCII.comma }
        guard let first = cursor.peek() else { return nil }
        if first == ASCII.star, let wildcard = wildcard() { return wildcard }

        var isBroken = false
        let uri = try uri(first, &isBroken)
        if uri.isEmpty { throw .noURI }
        let start = cursor.position
        while true {
            cursor.skip { $0 != ASCII.comma && $0 != ASCII.quote }
            guard cursor.peek() == ASCII.quote else { break }
            guard cursor.quotedString() != nil else { throw .openQuote }
        }
        return ContactElement(uri: uri, parameters: start..<cursor.position, isWildcard: false, isBroken: isBroken)
    }

    @_lifetime(self: copy self)
    private mutating func wildcard() -> ContactElement? {
        var ahead = Cursor(bytes, in: (cursor.position &+ 1)..<max(bytes.count, cursor.position &+ 1))
        ahead.skipBlanks()
        guard ahead.isAtEnd || ahead.peek() == ASCII.comma || ahead.peek() == ASCII.semicolon else { return nil }
        ahead.skip(to: ASCII.comma)
        cursor = Cursor(bytes, in: ahead.position..<bytes.count)
        return ContactElement(uri: 0..<0, parameters: 0..<0, isWildcard: true, isBroken: false)
    }

    @_lifetime(self: copy self)
    private mutating func uri(_ first: UInt8, _ isBroken: inout Bool) throws(Failure) -> Range<Int> {
        if first == ASCII.quote {
            guard cursor.quotedString() != nil else { throw .openQuote }
            cursor.skipBlanks()
            guard cursor.peek() == ASCII.less else { throw .noURI }
        }
        // Without brackets everything from the first `;` on belongs to the header (RFC 3261, 20.10).
        let start = cursor.position
        cursor.skip { $0 != ASCII.less && $0 != ASCII.comma && $0 != ASCII.semicolon }
        guard cursor.take(ASCII.less) else {
            let uri = cursor.trimmingBlanks(start..<cursor.position)
            isBroken = bytes.part(uri).contains { !Self.isVisible($0) }
            return uri
        }
        cursor.skipBlanks()
        let open = cursor.position
        cursor.skip { $0 != ASCII.greater && Self.isVisible($0) }
        if cursor.peek() != ASCII.greater {
            cursor.skip(to: ASCII.greater)
            isBroken = true
        }
        let uri = cursor.trimmingBlanks(open..<cursor.position)
        guard cursor.take(ASCII.greater) else { throw .openURI }
        return uri
    }

    private static func isVisible(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte != 0x7F
    }
}

/// One contact of a Contact header: where its parts are.
struct ContactElement {
    /// The URI, without angle brackets. Empty for `*`.
    let uri: Range<Int>
    /// What follows the URI, up to the comma.
    let parameters: Range<Int>
    let isWildcard: Bool
    /// The URI has a blank or control byte in it.
    let isBroken: Bool
}
