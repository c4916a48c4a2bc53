// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// One call as its caller sees it: INVITE, ringing, and an end that leaves nothing behind: CANCEL, or ACK and BYE
/// (RFC 3261, 9, 13, 15, 17). Or one text: MESSAGE and its answer.
///
/// Bytes and time go in, bytes and the result come out. The result stands when the phone rings, or does not; it is given
/// when the PBX has heard of the end too, or five seconds later.
public struct CanaryCall: ~Copyable {
    private enum Stage {
        /// INVITE is out.
        case calling
        /// CANCEL is out: the goal is reached, or time is over.
        case cancelling
        /// BYE is out.
        case leaving
        case done
    }

    /// T1 and T2 of RFC 3261, 17.1.1.1, in milliseconds.
    private static let firstPause: Int64 = 500
    private static let longestPause: Int64 = 4000
    /// Milliseconds for the end.
    private static let endTimeout: Int64 = 5000

    private let plan: CanaryPlan
    private let startedAt: Int64
    private var stage = Stage.calling
    private var endsAt: Int64
    private var cseq: UInt32 = 1
    private var hasProvisional = false
    private var authorization: String?
    private var repetition: (bytes: [UInt8], pause: Int64, at: Int64)?
    private var acknowledgement: [UInt8] = []
    private var result = CanaryResult(isGood: false, status: 0, text: "")

    /// Begins at `now` (monotonic milliseconds); call `start`.
    public init(_ plan: CanaryPlan, now: Int64) {
        self.plan = plan
        startedAt = now
        endsAt = now.addingReportingOverflow(max(1, plan.timeout)).partialValue
    }

    /// Monotonic milliseconds of the next `tick`; nil when it is over.
    public var deadline: Int64? {
        if case .done = stage { return nil }
        return min(endsAt, repetition?.at ?? .max)
    }

    /// The INVITE.
    public mutating func start(now: Int64) -> [CanaryAction] { [invite(now)] }

    /// Time has passed.
    public mutating func tick(now: Int64) -> [CanaryAction] {
        if case .done = stage { return [] }
        if now >= endsAt { return timeIsOver(now) }
        guard let due = repetition, now >= due.at else { return [] }
        let pause = min(due.pause &* 2, Self.longestPause)
        repetition = (due.bytes, pause, now &+ pause)
        return [.send(due.bytes)]
    }

    /// Takes the call back before its time is over.
    public mutating func hangUp(now: Int64) -> [CanaryAction] {
        guard stage == .calling else { return [] }
        result.text = "the caller hung up"
        return cancel(now)
    }

    /// A message has come from the PBX.
    public mutating func received(_ bytes: [UInt8], now: Int64) -> [CanaryAction] {
        guard let reply = SIPReply(bytes), reply.callID == plan.callID else { return [] }
        if case .done = stage { return [] }
        if reply.status == 0 { return answer(reply) }
        switch reply.method {
        case method where reply.cseq == cseq: return take(reply, now)
        // The challenge to the first one, once more: its acknowledgement was lost.
        case "INVITE" where reply.cseq < cseq && reply.status >= 300: return [.send(acknowledge(reply))]
        case "CANCEL" where stage == .cancelling:
            repetition = nil
            return []
        case "BYE" where stage == .leaving: return finish()
        default: return []
        }
    }

    // MARK: What comes

    private mutating func take(_ reply: SIPReply, _ now: Int64) -> [CanaryAction] {
        if reply.status < 200 { return progress(reply, now) }
        if stage == .calling || stage == .cancelling { result.ended = now &- startedAt }
        if reply.status < 300 { return isText ? delivered(reply) : answered(reply, now) }
        var actions = isText ? [] : [CanaryAction.send(acknowledge(reply))]
        if stage == .calling, reply.status == 401 || reply.status == 407, let line = authorize(reply) {
            authorization = line
            cseq += 1
            hasProvisional = false
            result.ended = nil
            return actions + [invite(now)]
        }
        if stage == .calling {
            result.status = reply.status
            result.text =
                "the \(isText ? "text" : "call") was refused: \(reply.status) \(PrintableText.cleaned(reply.reason))"
            if !reply.explanation.isEmpty { result.text += " (\(PrintableText.cleaned(reply.explanation)))" }
            if result.ringing != nil { result.text += ", after it rang" }
            if let remedy = remedy(reply.status) { result.text += "; \(remedy)" }
        }
        actions += finish()
        return actions
    }

    /// What a refusal of the PBX asks for; one of the phone is for `pushwake trace` to explain.
    private func remedy(_ status: Int) -> String? {
        switch status {
        case 401, 403, 407:
            plan.account == nil
                ? "it wants callers to log in: give --account" : "compare --account with the PBX's users, and --from"
        case 404, 410, 604:
            "it knows no such user: compare the URI with its users, and see whether the phone is registered"
        default: nil
        }
    }

    private mutating func progress(_ reply: SIPReply, _ now: Int64) -> [CanaryAction] {
        hasProvisional = true
        guard stage == .calling else { return [] }
        repetition = nil
        result.status = reply.status
        guard reply.status == 180 else { return [] }
        result.ringing = result.ringing ?? (now &- startedAt)
        guard plan.goal == .ringing else { return [] }
        result.isGood = true
        result.text = "the phone rang"
        return cancel(now)
    }

    private mutating func delivered(_ reply: SIPReply) -> [CanaryAction] {
        result.isGood = true
        result.answer = result.ended
        result.status = reply.status
        result.text = "the text was taken"
        return finish()
    }

    private mutating func answered(_ reply: SIPReply, _ now: Int64) -> [CanaryAction] {
        if stage == .leaving { return [.send(acknowledgement)] }
        if stage == .calling {
            result.answer = now &- startedAt
            result.ringing = result.ringing ?? result.answer
            result.isGood = true
            result.status = reply.status
            result.text = "the call was answered"
        }
        let target = reply.contact.isEmpty ? plan.target : reply.contact
        let routes = Array(reply.recordRoutes.reversed())
        acknowledgement = request("ACK", target, to: reply.to, cseq, branch: "a", routes: routes)
        let bye = request("BYE", target, to: reply.to, cseq + 1, branch: "b", routes: routes)
        stage = .leaving
        endsAt = now &+ Self.endTimeout
        return [.send(acknowledgement), send(bye, now)]
    }

    /// A phone that hangs up itself.
    private mutating func answer(_ request: SIPReply) -> [CanaryAction] {
        guard request.method == "BYE" else { return [] }
        let lines = ["SIP/2.0 200 OK"] + request.repeated + ["Content-Length: 0", "", ""]
        return [.send(Array(lines.joined(separator: "\r\n").utf8))] + finish()
    }

    private mutating func timeIsOver(_ now: Int64) -> [CanaryAction] {
        guard stage == .calling else { return finish() }
        let seconds = plan.timeout / 1000
        let wanted = plan.goal == .answer ? "nobody answered" : "no phone rang"
        result.text =
            result.status == 0
            ? "the PBX did not answer within \(seconds) s"
            : isText
                ? "nobody took the text within \(seconds) s; the last answer was \(result.status)"
                : "\(wanted) within \(seconds) s; the last answer was \(result.status)"
        return cancel(now)
    }

    private mutating func finish() -> [CanaryAction] {
        stage = .done
        repetition = nil
        return [.finish(result)]
    }

    // MARK: What goes

    private mutating func invite(_ now: Int64) -> CanaryAction {
        let further =
            isText
            ? ["Content-Type: text/plain"]
            : [
                "Contact: <sip:canary@\(plan.localAddress);transport=\(plan.transport.rawValue)>",
                "Allow: INVITE, ACK, CANCEL, BYE", "Content-Type: application/sdp",
            ]
        return send(
            request(
                method, plan.target, to: "<\(plan.target)>", cseq, branch: "i\(cseq)",
                further: (authorization.map { [$0] } ?? []) + further, body: isText ? "a test of push" : offer), now)
    }

    private var isText: Bool { plan.content == .text }
    private var method: String { isText ? "MESSAGE" : "INVITE" }

    private var offer: String {
        let address = Self.host(of: plan.localAddress)
        let family = address.contains(":") ? "IP6" : "IP4"
        let video = ["m=video 9 RTP/AVP 96", "a=rtpmap:96 H264/90000"]
        return
            ([
                "v=0", "o=pushwake 1 1 IN \(family) \(address)", "s=canary", "c=IN \(family) \(address)", "t=0 0",
                "m=audio 9 RTP/AVP 8 0", "a=rtpmap:8 PCMA/8000", "a=rtpmap:0 PCMU/8000",
            ] + (plan.content == .video ? video : []) + [""]).joined(separator: "\r\n")
    }

    /// Nobody who has said nothing may be sent a CANCEL (RFC 3261, 9.1).
    private mutating func cancel(_ now: Int64) -> [CanaryAction] {
        guard hasProvisional, !isText else { return finish() }
        stage = .cancelling
        result.cancelled = now &- startedAt
        endsAt = now &+ Self.endTimeout
        return [send(request("CANCEL", plan.target, to: "<\(plan.target)>", cseq, branch: "i\(cseq)"), now)]
    }

    /// Of an answer of 300 or more: part of the INVITE's transaction.
    private func acknowledge(_ reply: SIPReply) -> [UInt8] {
        request("ACK", plan.target, to: reply.to, reply.cseq, branch: "i\(reply.cseq)")
    }

    private mutating func send(_ bytes: [UInt8], _ now: Int64) -> CanaryAction {
        repetition = plan.transport == .udp ? (bytes, Self.firstPause, now &+ Self.firstPause) : nil
        return .send(bytes)
    }

    private func authorize(_ reply: SIPReply) -> String? {
        guard authorization == nil, let account = plan.account else { return nil }
        let choices = [DigestAlgorithm.sha256, .md5].compactMap { DigestChallenge.choose(reply.challenges, for: $0) }
        guard let challenge = choices.first else { return nil }
        let words = "\(account.name):\(challenge.realm):\(account.password.revealed)"
        let secret = Secret(Hex.encode(plan.hash(challenge.algorithm, Array(words.utf8))))
        return DigestAnswer(challenge, count: 1, clientNonce: String(plan.random, radix: 16)).header(
            username: account.name, credential: secret, method: method, uri: plan.target, hash: plan.hash)
    }

    private func request(
        _ method: String, _ uri: String, to: String, _ cseq: UInt32, branch: String, routes: [String] = [],
        further: [String] = [], body: String = ""
    ) -> [UInt8] {
        let chance = String(plan.random, radix: 36)
        var lines = [
            "\(method) \(uri) SIP/2.0",
            "Via: SIP/2.0/\(plan.transport.rawValue.uppercased()) \(plan.localAddress);branch=z9hG4bK\(chance)\(branch);rport",
            "Max-Forwards: 70", "From: \"canary\" <\(plan.caller)>;tag=\(chance)", "To: \(to)",
            "Call-ID: \(plan.callID)", "CSeq: \(cseq) \(method)", "User-Agent: pushwake-canary",
        ]
        lines += routes.map { "Route: \($0)" } + further
        lines += ["Content-Length: \(body.utf8.count)", "", body]
        return Array(lines.joined(separator: "\r\n").utf8)
    }

    /// `192.0.2.1:5060` and `[2001:db8::1]:5060` without port and brackets.
    private static func host(of address: String) -> String {
        guard let colon = address.lastIndex(of: ":") else { return address }
        return address[..<colon].filter { $0 != "[" && $0 != "]" }
    }
}
