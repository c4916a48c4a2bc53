// SPDX-License-Identifier: MIT

/// The SIP servers that a gateway may register phones at (`upper_servers`): all others are refused, so that nobody can
/// send through the gateway where he likes.
public struct UpstreamServers: Equatable, Sendable {
    /// One entry of the list.
    private struct Entry: Equatable {
        /// In lower case; begins with a dot when all hosts below it are meant.
        let host: String
        /// 0: where SIP is usually served, or by the records of DNS.
        let port: UInt32
    }

    private let entries: [Entry]

    /// Reads hosts, comma separated: `pbx.example.com`, `192.0.2.1:5080`, and `*.example.com` or `.example.com` for all
    /// below it. What is none of these is left out.
    public init(_ list: String) {
        entries = list.split(separator: ",").compactMap { part in
            var text = part.filter { $0 != " " && $0 != "\t" }.lowercased()
            if text.hasPrefix("*.") { text.removeFirst() }
            guard let place = HostPort(text) else { return nil }
            return Entry(host: place.host, port: place.port)
        }
    }

    /// Entries of such a list that are none of these.
    public static func mistakes(in list: String) -> [String] {
        list.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }.filter { part in
            !part.isEmpty && HostPort(part.hasPrefix("*.") ? String(part.dropFirst()) : part) == nil
        }
    }

    /// Nobody is allowed.
    public var isEmpty: Bool { entries.isEmpty }

    /// Whether phones may be registered there. An entry without a port allows 5060, 5061 and none.
    public func allow(_ place: HostPort) -> Bool {
        entries.contains { entry in
            let isHost =
                entry.host.hasPrefix(".")
                ? place.host.hasSuffix(entry.host) && place.host.utf8.count > entry.host.utf8.count
                : place.host == entry.host
            let isPort = entry.port == 0 ? [0, 5060, 5061].contains(place.port) : place.port == entry.port
            return isHost && isPort
        }
    }
}

/// A host, and a port where one is named.
public struct HostPort: Equatable, Sendable {
    /// In lower case, brackets of IPv6 kept.
    public let host: String
    /// 0 when none is named.
    public let port: UInt32

    /// Reads `host`, `host:port` or `[address]:port`; nil when it is none of these.
    public init?(_ text: String) {
        let bytes = text.utf8.span
        guard bytes.count > 0, bytes.count <= 255, !bytes.contains(where: { !ByteClass.host.contains($0) }) else {
            return nil
        }
        var cursor = Cursor(bytes)
        if cursor.take(UInt8(ascii: "[")) {
            cursor.skip(to: UInt8(ascii: "]"))
            guard cursor.take(UInt8(ascii: "]")) else { return nil }
        } else {
            cursor.skip(to: ASCII.colon)
        }
        let name = bytes.text(0..<cursor.position).lowercased()
        guard !name.isEmpty else { return nil }
        host = name
        guard cursor.take(ASCII.colon) else {
            guard cursor.isAtEnd else { return nil }
            port = 0
            return
        }
        guard let number = bytes.part(cursor.position..<bytes.count).decimal(), (1...65_535).contains(number) else {
            return nil
        }
        port = number
    }

    /// The host and port of a SIP URI; nil when it has none that can be read.
    public init?(uri: String) {
        let bytes = uri.utf8.span
        let parts = SIPURI(bytes, in: 0..<bytes.count)
        // From the host to its parameters: the port stands between.
        self.init(bytes.text(parts.host.lowerBound..<parts.parameters.lowerBound))
    }

    /// As it is written in a URI.
    public var text: String { port == 0 ? host : "\(host):\(port)" }
}
