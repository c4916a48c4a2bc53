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

/// Address of a Valkey or Redis server: `redis://host[:port][/database]`, `rediss://` for the same over TLS, or
/// `unix:///path/of/socket`. Also with `valkey` in place of `redis`.
public struct ValkeyAddress: Equatable, Sendable, CustomStringConvertible {
    /// How the server is reached.
    public enum Place: Equatable, Sendable {
        /// IPv6 literals without brackets.
        case tcp(host: String, port: UInt16, isTLS: Bool)
        case unix(path: String)
    }

    public let place: Place
    /// Number of the database (SELECT).
    public let database: Int
    /// As it was written.
    public let description: String

    private static let usage = "write sqlite, memory, redis://host[:port][/database], rediss://host or unix:///path"

    /// Reads an address.
    public init(_ text: String) throws(StoreChoice.Mistake) {
        description = text
        guard let separator = text.firstRange(of: "://") else { throw StoreChoice.Mistake(remedy: Self.usage) }
        let rest = text[separator.upperBound...]
        guard !rest.contains("@") else {
            // It would be shown wherever settings are.
            throw StoreChoice.Mistake(
                remedy: "leave out user and password; they belong to store_user and store_password_file")
        }
        switch text[..<separator.lowerBound] {
        case "unix":
            guard rest.hasPrefix("/"), rest.utf8.count < 108 else { throw StoreChoice.Mistake(remedy: Self.usage) }
            (place, database) = (.unix(path: String(rest)), 0)
        case "redis", "valkey": (place, database) = try Self.tcp(rest, isTLS: false)
        case "rediss", "valkeys": (place, database) = try Self.tcp(rest, isTLS: true)
        default: throw StoreChoice.Mistake(remedy: Self.usage)
        }
    }

    private static func tcp(_ text: Substring, isTLS: Bool) throws(StoreChoice.Mistake) -> (Place, Int) {
        let slash = text.firstIndex(of: "/") ?? text.endIndex
        let number = text[slash...].dropFirst()
        guard number.isEmpty || Int(number).map({ (0...1023).contains($0) }) == true else {
            throw StoreChoice.Mistake(remedy: "the database after the last slash is a number, such as 0")
        }
        var host = text[..<slash]
        var port: UInt16 = 6379
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
        let isNamed = host.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?")
        }
        guard !host.isEmpty, isNamed else { throw StoreChoice.Mistake(remedy: usage) }
        return (.tcp(host: String(host), port: port, isTLS: isTLS), Int(number) ?? 0)
    }
}
