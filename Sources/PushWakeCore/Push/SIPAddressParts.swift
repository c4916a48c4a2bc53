// SPDX-License-Identifier: MIT

/// Slices of a SIP or tel URI, for display: lenient, never failing.
enum SIPAddressParts {
    /// `alice` of `sip:alice:secret@example.com;transport=tls`; a tel number; empty when there is none.
    static func user(of uri: String) -> Substring {
        let bare = withoutScheme(uri)
        guard let at = bare.utf8.lastIndex(of: UInt8(ascii: "@")) else {
            return uri.utf8.starts(with: "tel:".utf8) ? upTo(";?>", in: bare) : ""
        }
        return upTo(":;", in: bare[..<at])
    }

    /// `example.com` of `sip:alice@example.com:5061;transport=tls`; brackets of IPv6 kept.
    static func host(of uri: String) -> Substring {
        if uri.utf8.starts(with: "tel:".utf8) { return "" }
        var rest = withoutScheme(uri)
        if let at = rest.utf8.lastIndex(of: UInt8(ascii: "@")) { rest = rest[rest.utf8.index(after: at)...] }
        if rest.utf8.first == UInt8(ascii: "["), let close = rest.utf8.firstIndex(of: UInt8(ascii: "]")) {
            return rest[...close]
        }
        return upTo(":;?>", in: rest)
    }

    private static func withoutScheme(_ uri: String) -> Substring {
        guard let colon = uri.utf8.firstIndex(of: UInt8(ascii: ":")) else { return uri[...] }
        let scheme = uri[..<colon]
        let isKnown = scheme == "sip" || scheme == "sips" || scheme == "tel"
        return isKnown ? uri[uri.utf8.index(after: colon)...] : uri[...]
    }

    private static func upTo(_ stops: StaticString, in text: Substring) -> Substring {
        let stops = stops.description.utf8
        return text[..<(text.utf8.firstIndex { stops.contains($0) } ?? text.endIndex)]
    }
}
