// SPDX-License-Identifier: MIT

/// Where a request goes: host and port of an `https` URL.
public struct HTTPOrigin: Hashable, Sendable {
    /// Lower case; an IPv6 literal without its brackets.
    public let host: String
    /// 443 unless the URL names another.
    public let port: UInt16

    public init(host: String, port: UInt16 = 443) {
        self.host = host
        self.port = port
    }

    /// Reads `https://host[:port][/]`; nil for anything else.
    public init?(_ url: String) {
        guard let (origin, path) = Self.split(url), path.isEmpty || path == "/" else { return nil }
        self = origin
    }

    /// Splits an absolute `https` URL into origin and path (with query), without a fragment.
    public static func split(_ url: String) -> (HTTPOrigin, path: String)? {
        let scheme = "https://"
        guard url.utf8.count > scheme.utf8.count, url.prefix(scheme.count).lowercased() == scheme else { return nil }
        let rest = url.dropFirst(scheme.count)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        guard let origin = parse(authority: rest[..<end]) else { return nil }
        let path = rest[end...].prefix { $0 != "#" }
        return (origin, String(path))
    }

    /// Names this machine, whoever asks.
    public var isLoopback: Bool {
        // A name may begin with these digits too.
        let isAddress = host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
        return host == "::1" || host == "localhost" || isAddress && host.hasPrefix("127.")
    }

    /// `host` or `host:port`, brackets around an IPv6 literal; the form of `:authority`.
    public var authority: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == 443 ? name : "\(name):\(port)"
    }

    private static func parse(authority: Substring) -> HTTPOrigin? {
        var host = authority
        var port: UInt16 = 443
        if authority.first == "[" {
            guard let close = authority.firstIndex(of: "]") else { return nil }
            host = authority[authority.index(after: authority.startIndex)..<close]
            let after = authority[authority.index(after: close)...]
            guard let parsed = self.port(after, otherwise: port) else { return nil }
            port = parsed
            guard host.utf8.contains(UInt8(ascii: ":")) else { return nil }
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            guard let parsed = self.port(authority[colon...], otherwise: port) else { return nil }
            port = parsed
        }
        let legal = host.utf8.allSatisfy {
            ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7A || $0 >= 0x30 && $0 <= 0x3A || $0 == 0x2D || $0 == 0x2E
                || $0 == 0x5F
        }
        guard !host.isEmpty, host.utf8.count <= 253, legal else { return nil }
        return HTTPOrigin(host: host.lowercased(), port: port)
    }

    private static func port(_ text: Substring, otherwise standard: UInt16) -> UInt16? {
        guard !text.isEmpty else { return standard }
        guard text.first == ":", let port = UInt16(text.dropFirst()), port > 0 else { return nil }
        return port
    }
}
