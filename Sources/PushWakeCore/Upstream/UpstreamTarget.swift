// SPDX-License-Identifier: MIT

/// Whom a gateway registers where: one upstream registration for each user and server.
///
///     X-Sy.Uppersrv: 192.0.2.1     the server's address
///     X-Sy.Uppersrvd: example.com  its domain, where that is another
///     X-Sy.Upperproxy: 192.0.2.9   a proxy on the way
///
/// Without these headers (Mizutech's) the Request-URI names the server (RFC 3261, 10.2).
public struct UpstreamTarget: Equatable, Sendable {
    /// User part as the phone wrote it.
    public let user: String
    /// Request-URI of the upstream REGISTER. What the phone's digest answer covers is kept to the letter.
    public let requestURI: String
    /// Address of record at the server: From and To.
    public let serverAOR: String
    /// Where it is sent: a SIP URI, or empty for what the Request-URI says.
    public let nextHop: String
    /// Names the server among others: who cannot register here cannot take another's users either, whatever domain it
    /// claims. Fit for the host part of a URI.
    public let server: String

    /// Why a phone is not registered anywhere.
    public enum Rejection: Error, Equatable, Sendable {
        /// 403: nobody allowed this server.
        case forbidden(String)
        /// 400: nothing can be made of it.
        case malformed(String)
    }

    /// The address of record on the gateway: `sip:101@pbx.example.com`.
    public var localURI: String { "sip:\(user)@\(server)" }

    /// Name of the account, which is also the user part of the gateway's Contact.
    public var name: String { UpstreamName.encode(user: user, server: server) }

    /// Decides by what a REGISTER says. `route` is a next hop that the operator's script chose, or empty: it is never
    /// questioned, but a phone that names its server goes there.
    public init(
        requestURI: String, to: String, account: UpstreamAccount, route: String, servers: UpstreamServers
    ) throws(Rejection) {
        let bytes = to.utf8.span
        user = bytes.text(SIPURI(bytes, in: 0..<bytes.count).user)
        guard !user.isEmpty, user.utf8.count <= 128, user.utf8.allSatisfy(Self.isPlain),
            (try? PercentDecoding.decode(user.utf8.span)) != nil
        else {
            throw .malformed("To names no user")
        }
        func allowed(_ text: String) throws(Rejection) -> HostPort {
            guard let place = HostPort(text) else { throw .malformed("\(text) is not a host") }
            guard servers.allow(place) else {
                throw .forbidden("\(place.text) is not among upper_servers")
            }
            return place
        }
        let proxy = account.proxy.isEmpty ? nil : try allowed(account.proxy)
        var hop = proxy.map { "sip:\($0.text)" } ?? (account.server.isEmpty ? route : "")
        let place: HostPort
        if account.server.isEmpty {
            guard let named = HostPort(uri: requestURI) else { throw .malformed("the Request-URI names no host") }
            if route.isEmpty { _ = try allowed(named.text) }
            guard requestURI.utf8.allSatisfy(Self.isPlain) else { throw .malformed("the Request-URI") }
            place = named
            self.requestURI = requestURI
            serverAOR = "sip:\(user)@\(place.text)"
        } else {
            place = try allowed(account.server)
            let domain = account.domain.isEmpty ? place.text : account.domain
            guard HostPort(domain) != nil else { throw .malformed("X-Sy.Uppersrvd") }
            self.requestURI = "sip:\(domain)"
            serverAOR = "sip:\(user)@\(domain)"
            if hop.isEmpty, !account.domain.isEmpty { hop = "sip:\(place.text)" }
        }
        // Who asks for the password is the proxy: its users are not those of the server that they claim.
        server = Self.name(of: place) + (proxy.map { $0 == place ? "" : ".via.\(Self.name(of: $0))" } ?? "")
        guard hop.utf8.allSatisfy(Self.isPlain), hop.utf8.count <= 255 else { throw .malformed("the next hop") }
        nextHop = hop
    }

    /// One that was kept.
    public init(user: String, requestURI: String, serverAOR: String, nextHop: String, server: String) {
        self.user = user
        self.requestURI = requestURI
        self.serverAOR = serverAOR
        self.nextHop = nextHop
        self.server = server
    }

    /// A port is part of the name: two servers may share an address. No host of a URI begins with `-` (RFC 3261, 25.1): the
    /// name of `[::1]` is that of `[0::1]`.
    private static func name(of place: HostPort) -> String {
        var host = String(place.host.filter { $0 != "[" && $0 != "]" }.map { $0 == ":" ? "-" : $0 })
        if host.hasPrefix("-") { host = "0" + host }
        return place.port == 0 || place.port == 5060 ? host : "\(host)-\(place.port)"
    }

    /// Visible ASCII that ends neither a URI in brackets nor a header.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && byte != ASCII.less && byte != ASCII.greater && byte != ASCII.quote
    }
}

/// The user part of the gateway's Contact: it says by itself which user it stands for, so that a call finds its way with
/// nothing to look up.
///
///     101 at pbx.example.com    gw-101_40pbx.example.com
///
/// Letters, digits, `.` and `-` stay; everything else is `_` and two hex digits: servers do not agree on what they make
/// of `%40`.
public enum UpstreamName {
    private static let prefix = "gw-"

    /// The name of an account.
    public static func encode(user: String, server: String) -> String {
        var out = Array(prefix.utf8)
        for byte in "\(user)@\(server)".utf8 {
            if isPlain(byte) {
                out.append(byte)
            } else {
                out.append(UInt8(ascii: "_"))
                out += Hex.encode([byte]).utf8
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// The address of record that a name stands for, as a SIP URI; nil when it is none of ours.
    public static func localURI(of name: Span<UInt8>) -> String? {
        guard name.count > prefix.utf8.count, name.count <= 1024, name.startsIgnoringCase(with: prefix) else {
            return nil
        }
        var out = Array("sip:".utf8)
        var cursor = Cursor(name, in: prefix.utf8.count..<name.count)
        while let byte = cursor.peek() {
            cursor.advance()
            if isPlain(byte) {
                out.append(byte)
                continue
            }
            guard byte == UInt8(ascii: "_"), let high = cursor.peek().flatMap(Self.digit) else { return nil }
            cursor.advance()
            guard let low = cursor.peek().flatMap(Self.digit) else { return nil }
            cursor.advance()
            let value = high << 4 | low
            guard value > 0x20, value < 0x7F else { return nil }
            out.append(value)
        }
        guard out.contains(ASCII.at) else { return nil }
        return String(decoding: out, as: UTF8.self)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        ByteClass.digit.contains(byte) || ASCII.lowercased(byte) &- 0x61 < 26 || byte == ASCII.dot
            || byte == UInt8(ascii: "-")
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
