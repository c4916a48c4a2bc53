// SPDX-License-Identifier: MIT

/// A From or To value: who, under what name.
public struct NameAddress: Equatable, Sendable {
    /// The name for people, quotes and backslashes resolved; empty when there is none.
    public var displayName: String
    /// The URI without angle brackets.
    public var uri: String
    /// The value has a `tag`: the request is inside a dialog when it is To's (RFC 3261, 12.2).
    public var hasTag: Bool
    /// As sent; empty when there is none.
    public var tag: String

    /// Reads `"Name" <uri>;tag=…`, `Name <uri>` or a bare URI; nil when there is no URI (RFC 3261, 20.20).
    public init?(_ value: Span<UInt8>) {
        if HeaderFolding.isPresent(in: value) {
            let line = HeaderFolding.unfold(value)
            self.init(line: line.span.trimmed())
        } else {
            self.init(line: value.trimmed())
        }
    }

    private init?(line: Span<UInt8>) {
        var contacts = ContactCursor(line)
        guard let element = try? contacts.next(), !element.isWildcard else { return nil }
        uri = line.text(element.uri)
        let found = Self.tag(line, in: element.parameters)
        (hasTag, tag) = (found != nil, found ?? "")
        var before = element.uri.lowerBound
        while before > 0, line[before &- 1] != ASCII.less { before &-= 1 }
        displayName = before > 0 ? Self.displayName(line.part(0..<(before &- 1))) : ""
    }

    private static func tag(_ line: Span<UInt8>, in parameters: Range<Int>) -> String? {
        var cursor = ParameterCursor(line, in: parameters, of: .header)
        while let parameter = cursor.next() {
            if line.part(parameter.name).equalsIgnoringCase("tag") { return line.text(parameter.value) }
        }
        return nil
    }

    /// The plain text of a display name as a header has it, whether that is in quotes or not. Once: a plain text may begin
    /// and end with quotes of its own.
    public static func displayName(_ raw: Span<UInt8>) -> String {
        let raw = raw.trimmed()
        var cursor = Cursor(raw)
        guard let inner = cursor.quotedString(), cursor.isAtEnd else { return raw.textOrWindows1252() }
        let name = raw.part(inner)
        guard let plain = withoutBackslashes(name) else { return name.textOrWindows1252() }
        return plain.span.textOrWindows1252()
    }

    /// The text of a quoted string without its quotes: backslashes go, what they protect stays.
    static func unquote(_ inner: Span<UInt8>) -> String {
        guard let plain = withoutBackslashes(inner) else { return inner.text() }
        return plain.span.text()
    }

    /// Nil where there are none.
    static func withoutBackslashes(_ inner: Span<UInt8>) -> [UInt8]? {
        guard inner.contains(where: { $0 == ASCII.backslash }) else { return nil }
        var out: [UInt8] = []
        out.reserveCapacity(inner.count)
        var cursor = Cursor(inner)
        while let byte = cursor.peek() {
            cursor.advance()
            if byte == ASCII.backslash, let escaped = cursor.peek() {
                out.append(escaped)
                cursor.advance()
            } else {
                out.append(byte)
            }
        }
        return out
    }

    /// `user@host` of the URI, `host` alone, or the number of a tel URI (RFC 3966, 3): the key of a user at a registrar.
    public var addressOfRecord: String {
        let bytes = uri.utf8.span
        if bytes.count > 4, bytes.part(0..<4).equalsIgnoringCase("tel:") {
            return String(uri.dropFirst(4).prefix { $0 != ";" })
        }
        let parts = SIPURI(bytes, in: 0..<bytes.count)
        let host = bytes.text(parts.host)
        return parts.user.isEmpty ? host : bytes.text(parts.user) + "@" + host
    }
}

/// Where the parts of a SIP URI are (RFC 3261, 19.1.1). Lenient: whatever it is given, it finds something.
struct SIPURI {
    /// Empty when there is none.
    let user: Range<Int>
    /// Without port, brackets of IPv6 kept.
    let host: Range<Int>
    /// From the first `;` after the host to the end, the URI's headers (`?…`) included: `ParameterCursor`
    /// stops before them.
    let parameters: Range<Int>

    /// Finds the parts of the URI that is `range` of `bytes`.
    init(_ bytes: Span<UInt8>, in range: Range<Int>) {
        var cursor = Cursor(bytes, in: range)
        let end = cursor.end
        let start = Self.afterScheme(bytes, in: cursor.position..<end)

        // A user part may hold `;` and `?` but never `@`, so the first `@` ends it.
        cursor = Cursor(bytes, in: start..<end)
        let userinfo = cursor.skip(to: ASCII.at)
        if cursor.take(ASCII.at) {
            var within = Cursor(bytes, in: userinfo)
            user = within.skip(to: ASCII.colon)
        } else {
            user = start..<start
            cursor = Cursor(bytes, in: start..<end)
        }

        let hostStart = cursor.position
        if cursor.take(UInt8(ascii: "[")) {
            cursor.skip { $0 != UInt8(ascii: "]") && $0 != ASCII.semicolon }
            _ = cursor.take(UInt8(ascii: "]"))
        } else {
            cursor.skip { $0 != ASCII.colon && $0 != ASCII.semicolon && $0 != ASCII.question }
        }
        host = hostStart..<cursor.position
        cursor.skip { $0 != ASCII.semicolon && $0 != ASCII.question }
        parameters = cursor.position..<end
    }

    private static func afterScheme(_ bytes: Span<UInt8>, in range: Range<Int>) -> Int {
        for scheme in ["sip:", "sips:"] where bytes.part(range).startsIgnoringCase(with: scheme) {
            return range.lowerBound &+ scheme.utf8.count
        }
        return range.lowerBound
    }
}
