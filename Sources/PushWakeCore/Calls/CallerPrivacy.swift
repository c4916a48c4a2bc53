// SPDX-License-Identifier: MIT

/// Whether whoever calls wants to be named. A push goes through others before it is on a screen, so it names nobody who
/// has asked not to be, whatever From still says.
package enum CallerPrivacy {
    /// Whether a Privacy header asks for the name to be withheld (RFC 3323, 4.2; `id`: RFC 3325, 9.3). `session` is about
    /// media, `critical` and `none` ask for nothing of it.
    package static func withholds(_ value: Span<UInt8>) -> Bool {
        var words = Cursor(value)
        while !words.isAtEnd {
            let word = value.part(words.skip { $0 != ASCII.semicolon && $0 != ASCII.comma }).trimmed()
            if word.equalsIgnoringCase("id") || word.equalsIgnoringCase("user") || word.equalsIgnoringCase("header") {
                return true
            }
            words.advance()
        }
        return false
    }

    /// Whether a URI is nobody's (RFC 3323, 4.1.1.3).
    static func isNobody(_ uri: String) -> Bool {
        let bytes = uri.utf8.span
        return bytes.part(SIPAddressParts.host(of: bytes)).equalsIgnoringCase("anonymous.invalid")
    }
}
