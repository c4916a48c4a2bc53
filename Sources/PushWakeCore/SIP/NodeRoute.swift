// SPDX-License-Identifier: MIT

/// The Path (RFC 3327) by which other nodes reach a phone that registered here.
///
///     <sip:10.0.0.2:5060;lr;aor=bob;received=sip:192.0.2.7:40312%3Btransport%3Dtcp>
///
/// A phone that came through a proxy of its own is reached through that one. Any other is reached through this node: a proxy
/// finds the connection by `received`, as Kamailio's `path` module reads it (use_received); a node that answers calls itself
/// finds the phone among the contacts of `aor`. Without `node_uri` there is none: others send to the phone's own address, which
/// does where nothing but UDP without NAT is used.
public struct NodeRoute: Sendable {
    private static let userParameter = ";lr;aor="

    /// The setting `node_uri`: sip:host[:port][;transport=...]; empty for none.
    private let nodeURI: String

    /// The routes through this node.
    public init(nodeURI: String) { self.nodeURI = nodeURI }

    /// The route to a contact of a user; `path` is the one it registered with, `flow` where its REGISTER came from.
    public func text(aor: String, path: String, flow: String) -> String {
        guard path.isEmpty else { return path }
        guard !nodeURI.isEmpty else { return "" }
        var route: [UInt8] = []
        route.reserveCapacity(nodeURI.utf8.count + 3 * (aor.utf8.count + flow.utf8.count) + 24)
        route.append(ASCII.less)
        nodeURI.utf8.span.append(to: &route)
        Self.userParameter.utf8.span.append(to: &route)
        Self.appendEscaped(aor, to: &route)
        if !flow.isEmpty {
            ";received=".utf8.span.append(to: &route)
            Self.appendEscaped(flow, to: &route)
        }
        route.append(ASCII.greater)
        return route.span.text()
    }

    /// Whether a contact that has this route registered here.
    public func isOwn(_ route: String) -> Bool {
        guard !nodeURI.isEmpty, route.hasPrefix("<\(nodeURI)") else { return false }
        return route.utf8.dropFirst(nodeURI.utf8.count + 1).first == ASCII.semicolon
    }

    /// The node that made this route: its `node_uri`. Empty for the Path of a phone's own proxy, and where there is none.
    public static func node(of route: String) -> String {
        guard route.hasPrefix("<"), let end = route.firstRange(of: userParameter)?.lowerBound else { return "" }
        return String(route[route.index(after: route.startIndex)..<end])
    }

    /// The user whose phone a request is for that another node sends through this one; nil for any other. `value` is what its
    /// topmost Route header says.
    public func user(inRoute value: Span<UInt8>) -> String? {
        var routes = ContactCursor(value)
        guard let route = try? routes.next() else { return nil }
        let uri = value.part(route.uri)
        guard uri.count <= SIPLimits.longestHeader, isOwn("<\(uri.text())") else { return nil }
        var parameters = ParameterCursor(uri, in: SIPURI(uri, in: 0..<uri.count).parameters, of: .uri)
        while let parameter = parameters.next() {
            guard uri.part(parameter.name).equalsIgnoringCase("aor") else { continue }
            guard let user = try? PercentDecoding.decode(uri.part(parameter.value)), !user.isEmpty else { return nil }
            return user
        }
        return nil
    }

    /// Appends it as the value of a URI's parameter (RFC 3261, 25.1): all but `paramchar` is escaped.
    private static func appendEscaped(_ text: String, to out: inout [UInt8]) {
        let bytes = text.utf8.span
        for index in bytes.indices {
            let byte = bytes[index]
            if ByteClass.uriParameter.contains(byte) {
                out.append(byte)
            } else {
                out.append(ASCII.percent)
                out.append(capitalDigit(byte &>> 4))
                out.append(capitalDigit(byte & 0x0F))
            }
        }
    }

    private static func capitalDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 &+ value : 0x37 &+ value }
}

extension NodeRoute {
    /// Whether a setting names a place that a Route can lead to: `sip:host[:port]` or `sips:`, perhaps with parameters (RFC
    /// 3261, 19.1.1), of which `transport` has to be one that there is. No user, headers or list.
    static func isNodeURI(_ text: String) -> Bool {
        let schemes = ["sip:", "sips:"]
        guard let scheme = schemes.first(where: text.hasPrefix), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return false
        }
        let parts = text.dropFirst(scheme.count).split(separator: ";", omittingEmptySubsequences: false)
        return isPlace(parts[0]) && parts.dropFirst().allSatisfy(isParameter)
    }

    private static func isPlace(_ text: Substring) -> Bool {
        let isLiteral = text.first == "["
        let end = isLiteral ? text.firstIndex(of: "]").map(text.index(after:)) : text.firstIndex(of: ":")
        guard !isLiteral || end != nil else { return false }
        let host = text[..<(end ?? text.endIndex)]
        let port = text[(end ?? text.endIndex)...]
        guard port.isEmpty || isPort(port) else { return false }
        if isLiteral {
            return host.utf8.count { $0 == UInt8(ascii: ":") } >= 2
                && host.dropFirst().dropLast().allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
        }
        return !host.isEmpty && host.allSatisfy { $0.isLetter || $0.isNumber || "-._".contains($0) }
    }

    /// `:5060`.
    private static func isPort(_ text: Substring) -> Bool {
        guard text.first == ":", let number = UInt16(text.dropFirst()), text.dropFirst().first?.isNumber == true else {
            return false
        }
        return number > 0
    }

    private static func isParameter(_ text: Substring) -> Bool {
        let words = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard !words[0].isEmpty, !text.utf8.contains(where: "<>\"@?,".utf8.contains) else { return false }
        guard words[0].lowercased() == "transport" else { return true }
        return words.count == 2 && ["udp", "tcp", "tls", "sctp", "ws", "wss"].contains(words[1].lowercased())
    }
}
