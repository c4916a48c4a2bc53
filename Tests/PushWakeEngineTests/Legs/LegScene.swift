// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeClient

/// A host and an engine around waiting legs: what went to each, in order.
struct LegScene: ~Copyable {
    var legs: WaitingLegs
    var now: Int64 = 1_000_000
    /// Start lines of answers to the host.
    private(set) var answers: [String] = []
    /// Whole texts of them.
    private(set) var texts: [String] = []
    private(set) var asked: [MessageReader] = []
    private(set) var orders: [LegAction] = []
    var user = LegUser()
    private var describes = true

    init(
        _ host: CallHost = .dialplan, hasEngine: Bool = true, ringsAll: Bool = false,
        contacts: [WakeMessage.Contact] = []
    ) {
        var policy = LegPolicy(Settings(), host: host, isReliable: host == .dialplan)
        policy.awakeFor = 5
        policy.ringsAll = ringsAll
        legs = WaitingLegs(policy, seed: 1)
        user.contacts = contacts
        if hasEngine { take(legs.engineCame(host: 7, now: now)) }
    }

    static func contact(_ name: String, _ reach: CallContact.Reach = .datagram, age: Int64 = -1) -> WakeMessage.Contact
    {
        var contact = WakeMessage.Contact(uri: "sip:\(name)@10.0.0.1")
        (contact.key, contact.reach, contact.age) = (contact.uri, reach, age)
        return contact
    }

    mutating func take(_ actions: [LegAction]) {
        for action in actions {
            switch action {
            case .answer(let bytes):
                let text = String(decoding: bytes, as: UTF8.self)
                texts.append(text)
                answers.append(String(text.prefix { $0 != "\r\n" }))
            case .ask(let bytes): if let message = MessageReader(bytes) { asked.append(message) }
            case .describe(let subject, _):
                orders.append(action)
                take(legs.described(subject.handle, as: user, now: now))
            case .probe, .close, .dial, .resend, .forget, .forward: orders.append(action)
            }
        }
    }

    // MARK: The host

    /// A request with this branch; the same Call-ID unless another is named.
    mutating func send(
        _ method: String, cseq: Int = 1, branch: String = "1", callID: String = "c1", to: String = "100",
        uri: String? = nil, more: String = "", body: String = ""
    ) {
        let text =
            "\(method) \(uri ?? "sip:\(to)@waiting.invalid") SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:5060;branch=z9hG4bK\(branch)\r\n"
            + "From: \"Ann\" <sip:200@pbx>;tag=f1\r\nTo: <sip:\(to)@pbx>\r\nCall-ID: \(callID)\r\nCSeq: \(cseq) \(method)\r\n"
            + more + "\r\n" + body
        let bytes = Array(text.utf8)
        take(legs.receive(bytes.span, now: now))
    }

    mutating func invite(cseq: Int = 1) { send("INVITE", cseq: cseq, branch: "\(cseq)") }

    /// The handle of the newest request.
    var handle: UInt64 {
        for case .describe(let subject, _) in orders.reversed() { return subject.handle }
        return 0
    }

    mutating func heard(leg: Int, _ status: Int, isFromPhone: Bool = true) {
        take(legs.progressed(handle, leg: leg, status: status, isFromPhone: isFromPhone, now: now))
    }

    mutating func wait(_ milliseconds: Int64) {
        let end = now + milliseconds
        while let next = legs.nextDeadline(), next <= end {
            now = max(now, next)
            take(legs.tick(now: now))
        }
        now = end
    }

    // MARK: The engine

    /// Kinds of what the engine was asked and told, newest last.
    var kinds: [EngineProtocol.Kind] { asked.map(\.kind) }

    /// Leg and status of each report.
    var reports: [[Int64]] {
        asked.filter { $0.kind == .progressed }.map {
            [
                EngineClient.number(.leg, in: $0), EngineClient.number(.status, in: $0),
                EngineClient.number(.fromPhone, in: $0),
            ]
        }
    }

    /// The engine answers the newest question: per contact the leg, 0 to hold.
    mutating func answer(legs numbers: [UInt16] = [], hold: Int64 = 40_000, watched: Bool = true) {
        guard let question = asked.last(where: { $0.kind == .wake }) else { return }
        var answer = WakeAnswer(contacts: numbers.count)
        (answer.bindings, answer.isWatched, answer.hold, answer.limit, answer.ticket) = (
            1, watched, hold, 40_000, [1, 2, 3]
        )
        answer.verdicts = numbers.map { watched && $0 == 0 ? 1 : 0 }
        answer.legs = numbers
        var writer = MessageWriter()
        writer.begin(.reply, id: question.id)
        answer.encode(into: &writer)
        hear(writer.bytes)
    }

    mutating func fail() {
        guard let question = asked.last else { return }
        var writer = MessageWriter()
        writer.begin(.failure, id: question.id)
        writer.put(.message, "the store is away")
        hear(writer.bytes)
    }

    mutating func verb(_ kind: LegVerb.Kind, leg: Int = 0, contact: String = "", replaces: Int = 0, status: Int = 0) {
        var writer = MessageWriter()
        writer.begin(.verbs, id: 0)
        writer.put(.verb, kind.rawValue)
        writer.put(.handle, Int64(bitPattern: handle))
        writer.put(.leg, leg)
        if replaces > 0 { writer.put(.replaces, replaces) }
        if status > 0 { writer.put(.status, status) }
        if !contact.isEmpty { writer.put(.contactKey, contact) }
        hear(writer.bytes)
    }

    private mutating func hear(_ bytes: [UInt8]) {
        guard let message = MessageReader(bytes) else { return }
        var out: [LegAction] = []
        _ = legs.receive(message, now: now, &out)
        take(out)
    }

    mutating func loseEngine() { take(legs.engineLeft(now: now)) }
    mutating func newEngine() { take(legs.engineCame(host: 8, now: now)) }
}
