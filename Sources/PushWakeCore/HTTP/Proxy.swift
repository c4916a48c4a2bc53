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

    /// What an address begins with that names a proxy of another kind, in lower case: `https`, `socks5`; nil when it does not.
    public static func unsupportedScheme(of text: String) -> String? {
        guard let end = text.firstRange(of: "://")?.lowerBound else { return nil }
        let scheme = text[..<end].lowercased()
        return scheme == "https" || scheme.hasPrefix("socks") && scheme.utf8.count <= 8 ? scheme : nil
    }

    /// The value of `proxy-authorization` for `user:password` (RFC 7617).
    public static func authorization(_ credentials: String) -> String { "Basic " + Base64.encode(credentials.utf8) }
}

/// Hosts that are reached without a proxy: names, `.example.com` or `*.example.com` for all below it, addresses,
/// networks, `*` for all.
public struct ProxyExceptions: Equatable, Sendable {
    private enum Rule: Equatable {
        case all
        case host(String)
        case below(String)
        case network(NetworkList)
    }

    private var rules: [Rule] = []
    /// The first entry that is none of these; nil when all are.
    public private(set) var problem: String?

    /// Reads a comma separated list.
    public init(_ list: String) {
        for entry in list.split(separator: ",") {
            let words = entry.split(separator: " ")
            guard !words.isEmpty else { continue }
            guard words.count == 1, let rule = Self.rule(words[0].lowercased()) else {
                problem = problem ?? String(entry.prefix(80))
                continue
            }
            rules.append(rule)
        }
    }

    /// Whether a host, as it stands in a URL, needs no proxy. Names are not resolved.
    public func contains(_ host: String) -> Bool {
        let host = host.lowercased()
        return rules.contains { rule in
            switch rule {
            case .all: true
            case .host(let name): name == host
            case .below(let suffix): host.utf8.count > suffix.utf8.count && host.hasSuffix(suffix)
            case .network(let network): network.contains(host)
            }
        }
    }

    private static func rule(_ word: String) -> Rule? {
        if word == "*" { return .all }
        if let network = NetworkList(word) { return .network(network) }
        let name = word.hasPrefix("*.") ? String(word.dropFirst()) : word
        let bare = name.hasPrefix(".") ? String(name.dropFirst()) : name
        // A port is not a part of a host: the rule would never fit.
        guard let origin = HTTPOrigin("https://\(bare)"), origin.host == bare else { return nil }
        return name.hasPrefix(".") ? .below(name) : .host(name)
    }
}
