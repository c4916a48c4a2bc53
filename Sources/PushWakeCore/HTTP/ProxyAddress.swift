// SPDX-License-Identifier: MIT

/// An HTTP proxy as settings name it: `[http://][user:password@]host:port`.
public struct ProxyAddress: Equatable, Sendable {
    /// Where the proxy listens.
    public let origin: HTTPOrigin
    /// `user:password` out of the address; nil when it has none. A secret.
    public let credentials: String?

    /// Reads an address; nil when it is none. A user's or password's `:`, `@` and `%` stand escaped (RFC 3986, 3.2.1).
    public init?(_ text: String) {
        var rest = text[...]
        if let end = rest.firstRange(of: "://")?.upperBound {
            // To a proxy that itself speaks TLS nothing here knows the way.
            guard rest[..<end].lowercased() == "http://" else { return nil }
            rest = rest[end...]
        }
        if rest.last == "/" { rest.removeLast() }
        var credentials: String?
        if let at = rest.lastIndex(of: "@") {
            let parts = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else { return nil }
            var words: [String] = []
            for part in parts {
                let bytes = Array(part.utf8)
                guard let word = try? PercentDecoding.decode(bytes.span) else { return nil }
                words.append(word)
            }
            guard !words[0].utf8.contains(ASCII.colon) else { return nil }
            credentials = words.joined(separator: ":")
            rest = rest[rest.index(after: at)...]
        }
        // Without a port nobody knows which was meant: 80, 3128 and 8080 are all usual.
        let afterBracket = rest.lastIndex(of: "]").map { rest[$0...] } ?? rest
        guard afterBracket.utf8.contains(ASCII.colon), let origin = HTTPOrigin("https://\(rest)") else { return nil }
        self.origin = origin
        self.credentials = credentials
    }

    /// The value of `proxy-authorization` for `user:password` (RFC 7617).
    public static func authorization(_ credentials: String) -> String { "Basic " + Base64.encode(credentials.utf8) }
}
