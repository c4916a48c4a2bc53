// SPDX-License-Identifier: MIT

/// One Feature-Caps header field about push (RFC 8599, 5.4; RFC 6809, 6).
public struct FeatureCaps: Equatable, Sendable {
    /// `sip.pns`: the push service, under the name the phone gave it.
    public var provider: String
    /// `sip.vapid`: the public key for Web Push; empty when not said.
    public var vapidKey: String
    /// `sip.pnsreg`: seconds before expiry at which the phone must refresh by itself; nil when not said.
    public var refreshLead: UInt32?
    /// `sip.pnspurr`: the key for requests within a dialog; empty when not said.
    public var purr: String

    /// Names a service, and what goes with it.
    public init(provider: String, vapidKey: String = "", refreshLead: UInt32? = nil, purr: String = "") {
        self.provider = provider
        self.vapidKey = vapidKey
        self.refreshLead = refreshLead
        self.purr = purr
    }

    /// The header line, ended by CRLF. Empty when `provider` cannot stand in one; other values that
    /// cannot are left out, so that nothing a phone sent breaks the reply.
    public var line: String {
        guard Self.isTagValue(provider) else { return "" }
        var line: [UInt8] = []
        line.reserveCapacity(192)
        func add(_ name: String, _ value: String) {
            line.append(contentsOf: name.utf8)
            value.utf8.span.append(to: &line)
            line.append(ASCII.quote)
        }
        line.append(contentsOf: "Feature-Caps: *".utf8)
        add(";+sip.pns=\"", provider)
        if Self.isTagValue(vapidKey) { add(";+sip.vapid=\"", vapidKey) }
        if let refreshLead { add(";+sip.pnsreg=\"", String(refreshLead)) }
        if Self.isTagValue(purr) { add(";+sip.pnspurr=\"", purr) }
        line.append(contentsOf: "\r\n".utf8)
        return String(decoding: line, as: UTF8.self)
    }

    /// Reads the values of one header field that name a push service.
    ///
    /// Tolerates what is in the field: no leading `*`, unknown indicators, `sip.pnsreq` for `sip.pnsreg`.
    public static func read(_ value: Span<UInt8>) -> [FeatureCaps] {
        if HeaderFolding.isPresent(in: value) {
            let line = HeaderFolding.unfold(value)
            return read(line: line.span)
        }
        return read(line: value)
    }

    private static func read(line: Span<UInt8>) -> [FeatureCaps] {
        var found: [FeatureCaps] = []
        var cursor = Cursor(line)
        while !cursor.isAtEnd, found.count < SIPLimits.mostContacts {
            cursor.skip { ASCII.isBlank($0) || $0 == ASCII.comma || $0 == ASCII.star }
            let start = cursor.position
            while true {
                cursor.skip { $0 != ASCII.comma && $0 != ASCII.quote }
                guard cursor.peek() == ASCII.quote else { break }
                guard cursor.quotedString() != nil else { return found }
            }
            if let caps = one(line, in: start..<cursor.position) { found.append(caps) }
        }
        return found
    }

    private static func one(_ line: Span<UInt8>, in range: Range<Int>) -> FeatureCaps? {
        var caps = FeatureCaps(provider: "")
        var hasProvider = false
        var parameters = ParameterCursor(line, in: range, of: .header)
        while let parameter = parameters.next() {
            let name = line.part(parameter.name)
            let value = line.part(parameter.value)
            if name.equalsIgnoringCase("+sip.pns") {
                caps.provider = value.text()
                hasProvider = true
            } else if name.equalsIgnoringCase("+sip.vapid") {
                caps.vapidKey = value.text()
            } else if name.equalsIgnoringCase("+sip.pnsreg") || name.equalsIgnoringCase("+sip.pnsreq") {
                caps.refreshLead = value.decimal()
            } else if name.equalsIgnoringCase("+sip.pnspurr") {
                caps.purr = value.text()
            }
        }
        return hasProvider ? caps : nil
    }

    private static func isTagValue(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= SIPLimits.longestName && ByteClass.tagValue.containsAll(of: text)
    }
}
