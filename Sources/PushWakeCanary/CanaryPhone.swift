// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// A phone for a canary's call: it registers with a push token, and rings when a call comes (RFC 3261, 8.2, 9.2, 10;
/// RFC 8599, 4.1).
///
/// Bytes go in and out; the caller has the socket, and gives each new one its address.
public struct CanaryPhone {
    /// What it registers as: `sip:user@domain`, and the parameters of its Contact's URI, which name its token.
    private let address: String
    private let parameters: String
    private let instance: String
    private let random: UInt64
    private var localAddress = ""
    private var cseq: UInt32 = 0
    private var invite: SIPReply?
    /// Status of the last answer to a REGISTER; 0 for none.
    public private(set) var status = 0
    /// It was sent a call.
    public var hasRung: Bool { invite != nil }

    /// `random` is chance for tags and branches.
    public init(address: String, parameters: String, instance: String, random: UInt64) {
        (self.address, self.parameters, self.instance, self.random) = (address, parameters, instance, random)
    }

    /// A REGISTER from `ip:port`; 0 seconds to leave.
    public mutating func register(from localAddress: String, seconds: Int) -> [UInt8] {
        self.localAddress = localAddress
        cseq += 1
        status = 0
        let chance = String(random, radix: 36)
        let user = address.prefix { $0 != "@" }
        let domain = address.drop { $0 != "@" }.dropFirst()
        let host = domain.prefix { $0 != ":" }
        let lines = [
            "REGISTER sip:\(domain) SIP/2.0",
            "Via: SIP/2.0/UDP \(localAddress);branch=z9hG4bK\(chance)r\(cseq);rport", "Max-Forwards: 70",
            "From: <\(user)@\(host)>;tag=\(chance)", "To: <\(user)@\(host)>", "Call-ID: phone-\(chance)",
            "CSeq: \(cseq) REGISTER", "Contact: <\(user)@\(localAddress)\(parameters)>;+sip.instance=\"<\(instance)>\"",
            "Expires: \(seconds)", "User-Agent: pushwake-canary", "Content-Length: 0", "", "",
        ]
        return Array(lines.joined(separator: "\r\n").utf8)
    }

    /// Takes a message from the PBX, and gives what it answers.
    public mutating func received(_ bytes: [UInt8]) -> [[UInt8]] {
        guard let message = SIPReply(bytes) else { return [] }
        if message.status > 0 {
            if message.method == "REGISTER", message.cseq == cseq { status = message.status }
            return []
        }
        switch message.method {
        case "INVITE":
            invite = message
            return [answer(message, "180 Ringing")]
        case "CANCEL":
            let ended = invite.map { [answer($0, "487 Request Terminated")] } ?? []
            return [answer(message, "200 OK")] + ended
        case "ACK": return []
        default: return [answer(message, "200 OK")]
        }
    }

    private func answer(_ request: SIPReply, _ status: String) -> [UInt8] {
        let tag = ";tag=\(String(random, radix: 36))"
        let repeated = request.repeated.map { line in
            (line.hasPrefix("to: ") || line.hasPrefix("t: ")) && !line.contains(";tag=") ? line + tag : line
        }
        let lines =
            ["SIP/2.0 \(status)"] + repeated + request.recordRoutes.map { "Record-Route: \($0)" } + [
                "Contact: <\(address.prefix { $0 != "@" })@\(localAddress)>", "Content-Length: 0", "", "",
            ]
        return Array(lines.joined(separator: "\r\n").utf8)
    }
}
