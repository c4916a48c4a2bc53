// SPDX-License-Identifier: MIT

/// Where bindings live, as the setting `store` says it.
public enum StoreChoice: Equatable, Sendable {
    case sqlite
    case memory
    /// A server that several nodes share.
    case valkey(ValkeyAddress)

    /// What is wrong with a value, and what to write.
    public struct Mistake: Error, Equatable, Sendable {
        public let remedy: String
    }

    /// Reads `sqlite`, `memory` or the address of a server.
    public init(setting text: String) throws(Mistake) {
        switch text {
        case "sqlite": self = .sqlite
        case "memory": self = .memory
        default: self = .valkey(try ValkeyAddress(text))
        }
    }
}

/// Address of a Valkey or Redis server: `redis://host[:port][/database]`, `rediss://` for the same over TLS,
/// `unix:///path/of/socket`, `redis+sentinel://host[:port],…/name[/database]` (`rediss+sentinel://`) for the server that
/// Sentinels call the master of that name, or `redis+cluster://host[:port],…` (`rediss+cluster://`) for the cluster that these
/// belong to. Also with `valkey` in place of `redis`. A user may stand before it, as in `redis://USER@host`; a password may
/// not, since an address is shown.
public struct ValkeyAddress: Equatable, Sendable, CustomStringConvertible {
    /// How the server is reached.
    public enum Place: Equatable, Sendable {
        /// IPv6 literals without brackets.
        case tcp(host: String, port: UInt16, isTLS: Bool)
        case unix(path: String)
        /// Sentinels who know where it is, and what they call it.
        case sentinel(hosts: [Host], name: String, isTLS: Bool)
        /// Some nodes of a cluster: they know the others.
        case cluster(hosts: [Host], isTLS: Bool)
    }

    /// A host and a port.
    public struct Host: Hashable, Sendable, CustomStringConvertible {
        public let name: String
        public let port: UInt16

        public var description: String { "\(name):\(port)" }

        public init(name: String, port: UInt16) {
            self.name = name
            self.port = port
        }
    }

    public let place: Place
    /// Whom the server is to know; empty: its default user. Percent-encoded in the text (RFC 3986, 3.2.1).
    public let user: String
    /// Number of the database (SELECT).
    public let database: Int
    /// As it was written.
    public let description: String

    private static let usage =
        "write sqlite, memory, redis://[user@]host[:port][/database], rediss://host, unix:///path, redis+sentinel://host,host/name or redis+cluster://host,host"

    /// Whether connections are over TLS.
    public var isTLS: Bool {
        switch place {
        case .tcp(_, _, let isTLS), .sentinel(_, _, let isTLS), .cluster(_, let isTLS): isTLS
        case .unix: false
        }
    }

    /// A server that somebody else named; `description` says how.
    public init(_ host: Host, user: String, isTLS: Bool, description: String) {
        place = .tcp(host: host.name, port: host.port, isTLS: isTLS)
        self.user = user
        database = 0
        self.description = description
    }

    /// Reads an address.
    public init(_ text: String) throws(StoreChoice.Mistake) {
        description = text
        guard let separator = text.firstRange(of: "://") else { throw StoreChoice.Mistake(remedy: Self.usage) }
        let (user, rest) = try Self.split(text[separator.upperBound...])
        self.user = user
        switch text[..<separator.lowerBound] {
        case "unix":
            guard rest.hasPrefix("/"), rest.utf8.count < 108 else { throw StoreChoice.Mistake(remedy: Self.usage) }
            (place, database) = (.unix(path: String(rest)), 0)
        case "redis", "valkey": (place, database) = try Self.tcp(rest, isTLS: false)
        case "rediss", "valkeys": (place, database) = try Self.tcp(rest, isTLS: true)
        case "redis+sentinel", "valkey+sentinel": (place, database) = try Self.sentinel(rest, isTLS: false)
        case "rediss+sentinel", "valkeys+sentinel": (place, database) = try Self.sentinel(rest, isTLS: true)
        case "redis+cluster", "valkey+cluster": (place, database) = try Self.cluster(rest, isTLS: false)
        case "rediss+cluster", "valkeys+cluster": (place, database) = try Self.cluster(rest, isTLS: true)
        default: throw StoreChoice.Mistake(remedy: Self.usage)
        }
    }

    /// The user, and what stands behind.
    private static func split(_ text: Substring) throws(StoreChoice.Mistake) -> (user: String, rest: Substring) {
        guard let at = text.lastIndex(of: "@") else { return ("", text) }
        let written = text[..<at]
        guard !written.contains(":") else {
            throw StoreChoice.Mistake(remedy: "leave the password out; it belongs into the file store_password_file")
        }
        guard isName(written), let user = try? PercentDecoding.decode(Array(written.utf8).span) else {
            throw StoreChoice.Mistake(remedy: "write the user before the host, as in redis://USER@host")
        }
        return (user, text[text.index(after: at)...])
    }

    private static func tcp(_ text: Substring, isTLS: Bool) throws(StoreChoice.Mistake) -> (Place, Int) {
        let slash = text.firstIndex(of: "/") ?? text.endIndex
        let host = try host(text[..<slash], port: 6379)
        return (
            .tcp(host: host.name, port: host.port, isTLS: isTLS), try database(text[slash...].dropFirst())
        )
    }

    private static func sentinel(_ text: Substring, isTLS: Bool) throws(StoreChoice.Mistake) -> (Place, Int) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 || parts.count == 3, isName(parts[1]) else {
            throw StoreChoice.Mistake(remedy: "write redis+sentinel://host[:port],host[:port]/name of the master")
        }
        return (
            .sentinel(hosts: try hosts(parts[0], port: 26_379), name: String(parts[1]), isTLS: isTLS),
            try database(parts.count == 3 ? parts[2] : "")
        )
    }

    private static func cluster(_ text: Substring, isTLS: Bool) throws(StoreChoice.Mistake) -> (Place, Int) {
        let slash = text.firstIndex(of: "/") ?? text.endIndex
        guard try database(text[slash...].dropFirst()) == 0 else {
            throw StoreChoice.Mistake(remedy: "a cluster has no databases but 0; leave it out")
        }
        return (.cluster(hosts: try hosts(text[..<slash], port: 6379), isTLS: isTLS), 0)
    }

    private static func hosts(_ text: Substring, port: UInt16) throws(StoreChoice.Mistake) -> [Host] {
        var hosts: [Host] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            hosts.append(try host(part, port: port))
        }
        return hosts
    }

    private static func database(_ text: Substring) throws(StoreChoice.Mistake) -> Int {
        guard !text.isEmpty else { return 0 }
        guard let number = Int(text), (0...1023).contains(number) else {
            throw StoreChoice.Mistake(remedy: "the database after the last slash is a number, such as 0")
        }
        return number
    }

    private static func isName(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    }

    private static func host(_ text: Substring, port usual: UInt16) throws(StoreChoice.Mistake) -> Host {
        var host = text
        var port = usual
        let hasBrackets = host.hasPrefix("[")
        let colon =
            hasBrackets ? host.firstRange(of: "]:").map { host.index(before: $0.upperBound) } : host.lastIndex(of: ":")
        if let colon {
            guard let given = UInt16(host[host.index(after: colon)...]), given > 0 else {
                throw StoreChoice.Mistake(remedy: "the port is a number from 1 to 65535")
            }
            port = given
            host = host[..<colon]
        }
        if hasBrackets {
            guard host.last == "]" else { throw StoreChoice.Mistake(remedy: usage) }
            host = host.dropFirst().dropLast()
        }
        guard isName(host) else { throw StoreChoice.Mistake(remedy: usage) }
        return Host(name: String(host), port: port)
    }
}
