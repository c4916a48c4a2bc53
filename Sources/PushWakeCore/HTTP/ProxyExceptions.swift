// SPDX-License-Identifier: MIT

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
        // A port is no part of a host: the rule would never fit.
        guard let origin = HTTPOrigin("https://\(bare)"), origin.host == bare else { return nil }
        return name.hasPrefix(".") ? .below(name) : .host(name)
    }
}
