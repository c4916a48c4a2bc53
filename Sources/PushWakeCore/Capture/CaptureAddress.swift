// SPDX-License-Identifier: MIT

/// Where the trace of each call is sent as HEP, as the setting `hep_capture` says it: `host:port` for UDP, or
/// `udp:host:port`, `tcp:host:port`, `tls:host:port`. IPv6 literals stand in brackets.
public struct CaptureAddress: Equatable, Sendable, CustomStringConvertible {
    /// How packets get there.
    public enum Transport: String, Sendable, CaseIterable {
        case udp, tcp, tls
    }

    /// What to write in place of a value that does not fit.
    public struct Mistake: Error, Equatable, Sendable {
        public let remedy: String
    }

    public let transport: Transport
    /// Without brackets.
    public let host: String
    public let port: UInt16

    private static let usage = "write host:port for UDP, or udp:host:port, tcp:host:port, tls:host:port"

    /// Reads an address.
    public init(_ text: String) throws(Mistake) {
        let named = Transport.allCases.first { text.hasPrefix("\($0.rawValue):") }
        let rest = named == nil ? text[...] : text.dropFirst(4)
        guard let colon = rest.lastIndex(of: ":"), let port = UInt16(rest[rest.index(after: colon)...]), port > 0 else {
            throw Mistake(remedy: Self.usage)
        }
        var host = rest[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw Mistake(remedy: "\(Self.usage); an IPv6 address stands in brackets")
        }
        let isName = host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"/@?[]".utf8.contains($0) }
        guard !host.isEmpty, isName else { throw Mistake(remedy: Self.usage) }
        transport = named ?? .udp
        self.host = String(host)
        self.port = port
    }

    /// `tcp:host:port`.
    public var description: String {
        "\(transport.rawValue):\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
}
