// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeClient

/// A host and an engine around waiting legs: what went to each, in order.
final class LegScene {
    var legs: WaitingLegs
    var now: Int64 = 1_000_000
    /// Start lines of answers to the host.
    private(set) var answers: [String] = []
    /// Whole texts of them.
    private(set) var texts: [String] = []
    private(set) var asked: [MessageReader] = []
    private(set) var orders: [LegAction] = []
    var user = LegUser()

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

    @discardableResult func take(_ actions: [LegAction]) -> Self {
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
        return self
    }

    // MARK: The host

    /// A request with this branch; the same Call-ID unless another is named.
    @discardableResult func send(
        _ method: String, cseq: Int = 1, branch: String = "1", callID: String = "c1", to: String = "100",
        uri: String? = nil, more: String = "", body: String = ""
    ) -> Self {
        let text =
            "\(method) \(uri ?? "sip:\(to)@waiting.invalid") SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:5060;branch=z9hG4bK\(branch)\r\n"
            + "From: \"Ann\" <sip:200@pbx>;tag=f1\r\nTo: <sip:\(to)@pbx>\r\nCall-ID: \(callID)\r\nCSeq: \(cseq) \(method)\r\n"
            + more + "\r\n" + body
        let bytes = Array(text.utf8)
        return take(legs.receive(bytes.span, now: now))
    }

    @discardableResult func invite(cseq: Int = 1) -> Self { send("INVITE", cseq: cseq, branch: "\(cseq)") }

    /// The handle of the newest request.
    var handle: UInt64 {
        for case .describe(let subject, _) in orders.reversed() { return subject.handle }
        return 0
    }

    @discardableResult func heard(leg: Int, _ status: Int, isFromPhone: Bool = true) -> Self {
        take(legs.progressed(handle, leg: leg, status: status, isFromPhone: isFromPhone, now: now))
    }

    @discardableResult func wait(_ milliseconds: Int64) -> Self {
        let end = now + milliseconds
        while let next = legs.nextDeadline(), next <= end {
            now = max(now, next)
            take(legs.tick(now: now))
        }
        now = end
        return self
    }

    /// The phone that was asked for a sign of life.
    @discardableResult func probed(leg: Int, _ status: Int) -> Self {
        take(legs.probed(handle, leg: leg, status: status, now: now))
    }

    @discardableResult func registered(_ name: String, aor: String = "100") -> Self {
        take(legs.registered(Self.contact(name), aor: aor, domain: "", now: now))
    }

    /// How the host says that its request has ended.
    @discardableResult func ended(how: Int, _ status: Int) -> Self {
        take(legs.ended(handle, how: how, status: status, reason: "", now: now))
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
    @discardableResult func answer(legs numbers: [UInt16] = [], hold: Int64 = 40_000, watched: Bool = true) -> Self {
        guard let question = asked.last(where: { $0.kind == .wake }) else { return self }
        var answer = WakeAnswer(contacts: numbers.count)
        (answer.bindings, answer.isWatched, answer.hold, answer.limit, answer.ticket) = (
            1, watched, hold, 40_000, [1, 2, 3]
        )
        answer.verdicts = numbers.map { watched && $0 == 0 ? 1 : 0 }
        answer.legs = numbers
        var writer = MessageWriter()
        writer.begin(.reply, id: question.id)
        answer.encode(into: &writer)
        return hear(writer.bytes)
    }

    @discardableResult func fail() -> Self {
        guard let question = asked.last else { return self }
        var writer = MessageWriter()
        writer.begin(.failure, id: question.id)
        writer.put(.message, "the store is away")
        return hear(writer.bytes)
    }

    @discardableResult func verb(
        _ kind: LegVerb.Kind, leg: Int = 0, contact: String = "", replaces: Int = 0, status: Int = 0
    ) -> Self {
        var writer = MessageWriter()
        writer.begin(.verbs, id: 0)
        writer.put(.verb, kind.rawValue)
        writer.put(.handle, Int64(bitPattern: handle))
        writer.put(.leg, leg)
        if replaces > 0 { writer.put(.replaces, replaces) }
        if status > 0 { writer.put(.status, status) }
        if !contact.isEmpty { writer.put(.contactKey, contact) }
        return hear(writer.bytes)
    }

    private func hear(_ bytes: [UInt8]) -> Self {
        guard let message = MessageReader(bytes) else { return self }
        var out: [LegAction] = []
        _ = legs.receive(message, now: now, &out)
        return take(out)
    }

    @discardableResult func loseEngine() -> Self { take(legs.engineLeft(now: now)) }
    @discardableResult func newEngine() -> Self { take(legs.engineCame(host: 8, now: now)) }

    // MARK: What came of it

    /// How the last answers to the host begin, without their version.
    @discardableResult func answered(_ lines: String..., at line: SourceLocation = #_sourceLocation) -> Self {
        let last = answers.suffix(lines.count)
        #expect(
            last.count == lines.count && zip(last, lines).allSatisfy { $0.hasPrefix("SIP/2.0 \($1)") }, "\(last)",
            sourceLocation: line)
        return self
    }

    /// How many answers there were so far, or as many of one status.
    @discardableResult func answered(
        times: Int, _ status: String = "", at line: SourceLocation = #_sourceLocation
    ) -> Self {
        #expect(answers.filter { $0.hasPrefix("SIP/2.0 \(status)") }.count == times, "\(answers)", sourceLocation: line)
        return self
    }

    /// What the last answer contains.
    @discardableResult func says(_ text: String, at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(texts.last?.contains(text) == true, "\(texts.last ?? "")", sourceLocation: line)
        return self
    }

    /// What the engine was asked and told so far.
    @discardableResult func asks(_ kinds: [EngineProtocol.Kind], at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(self.kinds == kinds, sourceLocation: line)
        return self
    }

    @discardableResult func asksLast(_ kind: EngineProtocol.Kind, at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(kinds.last == kind, sourceLocation: line)
        return self
    }

    /// A field of what the engine was asked, by its place.
    @discardableResult func asks(
        _ place: Int, _ field: EngineProtocol.Tag, _ text: String, at line: SourceLocation = #_sourceLocation
    ) -> Self {
        #expect(EngineClient.text(field, in: asked[place]) == text, sourceLocation: line)
        return self
    }

    @discardableResult func asks(
        _ place: Int, _ field: EngineProtocol.Tag, _ number: Int64, at line: SourceLocation = #_sourceLocation
    ) -> Self {
        #expect(EngineClient.number(field, in: asked[place]) == number, sourceLocation: line)
        return self
    }

    /// Leg, status, and whether its phone said so, of all reports.
    @discardableResult func reported(_ all: [[Int64]], at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(reports == all, sourceLocation: line)
        return self
    }

    @discardableResult func reportedLast(_ report: [Int64], at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(reports.last == report, sourceLocation: line)
        return self
    }

    @discardableResult func ordered(
        at line: SourceLocation = #_sourceLocation, _ order: (UInt64) -> LegAction
    ) -> Self {
        #expect(orders.last == order(handle), sourceLocation: line)
        return self
    }

    /// How many requests wait.
    @discardableResult func holds(_ count: Int, at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(legs.count == count, sourceLocation: line)
        return self
    }
}
