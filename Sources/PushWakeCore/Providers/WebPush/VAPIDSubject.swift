// SPDX-License-Identifier: MIT

/// Under which address a push service reaches who sends (RFC 8292, 2.1), as strictly as Apple reads it: it answers all else
/// with BadJwtToken.
public struct VAPIDSubject: Equatable, Sendable {
    /// For a token: the scheme in lower case.
    public let text: String

    /// Reads `mailto:` with an address or an `https:` URI, both with a domain; nil when it is neither.
    public init?(_ setting: String) {
        guard let colon = setting.firstIndex(of: ":"),
            !setting.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F || $0 == ASCII.less || $0 == ASCII.greater })
        else { return nil }
        let (scheme, rest) = (setting[..<colon].lowercased(), setting[setting.index(after: colon)...])
        switch scheme {
        case "mailto":
            let address = rest.prefix { $0 != "?" }.split(separator: "@", omittingEmptySubsequences: false)
            guard address.count == 2, let user = address.first, let host = address.last, !user.isEmpty,
                Self.isDomain(host)
            else { return nil }
        case "https":
            guard let (origin, _) = HTTPOrigin.split("\(scheme):\(rest)"), Self.isDomain(origin.host[...]) else {
                return nil
            }
        default: return nil
        }
        text = "\(scheme):\(rest)"
    }

    /// A name of two labels at least, such as `example.com`: nobody reaches `localhost`, nor an address.
    private static func isDomain(_ host: Substring) -> Bool {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count > 1, labels.allSatisfy({ !$0.isEmpty }), HTTPOrigin("https://\(host)")?.port == 443,
            let last = labels.last?.lowercased()
        else { return false }
        return last != "localhost" && !last.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
    }
}
