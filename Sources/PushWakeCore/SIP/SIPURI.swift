// SPDX-License-Identifier: MIT

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
