// SPDX-License-Identifier: MIT

/// Parts of a SIP or tel URI, for display: lenient, never failing. Ranges count bytes.
package enum SIPAddressParts {
    /// The URI of an address that somebody typed: `sip:alice@example.com` for `alice` if it is for a user there, `tel:1111`
    /// for a number if it is for a user without a domain. Empty when it cannot be one, such as a name with a space.
    package static func uri(typed text: String, for aor: String) -> String {
        let bytes = text.utf8.span
        guard !bytes.isEmpty, ByteClass.url.containsAll(of: text) else { return "" }
        if schemeLength(of: bytes) > 0 { return text }
        if bytes.contains(ASCII.at) { return "sip:\(text)" }
        if let at = aor.utf8.lastIndex(of: ASCII.at), aor.utf8.index(after: at) < aor.endIndex {
            return "sip:\(text)\(aor[at...])"
        }
        let isNumber = text.utf8.allSatisfy { ByteClass.digit.contains($0) || "+*".utf8.contains($0) }
        return isNumber ? "tel:\(text)" : "sip:\(text)@\(unknownDomain)"
    }

    /// Nobody's (RFC 6761, 6.4).
    private static let unknownDomain = "unknown.invalid"

    /// `alice` of `sip:alice:secret@example.com;transport=tls`; a tel number; empty when there is none.
    static func user(of uri: Span<UInt8>) -> Range<Int> {
        let start = schemeLength(of: uri)
        guard let at = lastAt(in: uri, from: start) else {
            // By hand somebody writes `1111`; a URI has a scheme.
            return isTel(uri) || start == 0 ? start..<end(of: uri, from: start, portEnds: false) : 0..<0
        }
        return start..<end(of: uri.extracting(0..<at), from: start, portEnds: true)
    }

    /// `example.com` of `sip:alice@example.com:5061;transport=tls`; brackets of IPv6 kept.
    static func host(of uri: Span<UInt8>) -> Range<Int> {
        if isTel(uri) { return 0..<0 }
        var start = schemeLength(of: uri)
        if let at = lastAt(in: uri, from: start) {
            start = at &+ 1
        } else if start == 0 {
            return 0..<0
        }
        if start < uri.count, uri[start] == UInt8(ascii: "[") {
            var close = start
            while close < uri.count, uri[close] != UInt8(ascii: "]") { close &+= 1 }
            return start..<min(close &+ 1, uri.count)
        }
        return start..<end(of: uri, from: start, portEnds: true)
    }

    /// Bytes of `sip:`, `sips:` or `tel:` at the beginning; 0 without.
    private static func schemeLength(of uri: Span<UInt8>) -> Int {
        guard uri.count >= 4 else { return 0 }
        if uri[3] == UInt8(ascii: ":"), isSIP(uri) || isTel(uri) { return 4 }
        return uri.count >= 5 && uri[4] == UInt8(ascii: ":") && isSIP(uri) && uri[3] | 0x20 == UInt8(ascii: "s") ? 5 : 0
    }

    private static func isSIP(_ uri: Span<UInt8>) -> Bool {
        uri[0] | 0x20 == UInt8(ascii: "s") && uri[1] | 0x20 == UInt8(ascii: "i") && uri[2] | 0x20 == UInt8(ascii: "p")
    }

    private static func isTel(_ uri: Span<UInt8>) -> Bool {
        uri.count >= 4 && uri[0] | 0x20 == UInt8(ascii: "t") && uri[1] | 0x20 == UInt8(ascii: "e")
            && uri[2] | 0x20 == UInt8(ascii: "l") && uri[3] == UInt8(ascii: ":")
    }

    private static func lastAt(in uri: Span<UInt8>, from start: Int) -> Int? {
        var index = uri.count
        while index > start {
            index &-= 1
            if uri[index] == UInt8(ascii: "@") { return index }
        }
        return nil
    }

    /// Where parameters, headers or, with `portEnds`, a port or password begin.
    private static func end(of uri: Span<UInt8>, from start: Int, portEnds: Bool) -> Int {
        var index = start
        while index < uri.count {
            switch uri[index] {
            case UInt8(ascii: ";"), UInt8(ascii: "?"), UInt8(ascii: ">"): return index
            case UInt8(ascii: ":") where portEnds: return index
            default: index &+= 1
            }
        }
        return index
    }
}
