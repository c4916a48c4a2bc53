// SPDX-License-Identifier: MIT

import PushWakeCore

@testable import PushWakeClient

/// Lets waiting legs hear anything in any order: requests of a host, messages of an engine, reports, time. Each line of the input is
/// an event, and its first byte says which. An answer is SIP and holds no line that was not meant, whatever a request held;
/// nothing is left of requests once their time is over.
public func fuzzLegs(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: start, count: count)
    guard let choice = input.first else { return 0 }
    var run = LegRun(isChannel: choice & 1 == 0, isReliable: choice & 2 == 0, ringsAll: choice & 4 != 0)
    for line in input.dropFirst().split(separator: 0x0A, maxSplits: 200, omittingEmptySubsequences: true) {
        run.event(Array(line))
    }
    run.end()
    return 0
}

private struct LegRun: ~Copyable {
    private var legs: WaitingLegs
    private var now: Int64 = 0
    private var handles: [UInt64] = []

    init(isChannel: Bool, isReliable: Bool, ringsAll: Bool) {
        var policy = LegPolicy(Settings(), host: isChannel ? .dialplan : .proxy, isReliable: isReliable)
        policy.ringsAll = ringsAll
        legs = WaitingLegs(policy, seed: 1)
    }

    mutating func event(_ line: [UInt8]) {
        let rest = Array(line.dropFirst())
        let number = Int64(rest.first ?? 0)
        let leg = Int(rest.dropFirst().first ?? 0)
        let handle = handles.isEmpty ? 0 : handles[Int(number) % handles.count]
        switch line[0] {
        // Line ends come as tabs.
        case UInt8(ascii: "<"): receive(rest.map { $0 == 0x09 ? 0x0A : $0 })
        case UInt8(ascii: "e"): take(legs.engineCame(host: 1, now: now))
        case UInt8(ascii: "l"): take(legs.engineLeft(now: now))
        case UInt8(ascii: "t"):
            now += number * 97
            take(legs.tick(now: now))
        case UInt8(ascii: "p"):
            take(legs.progressed(handle, leg: leg, status: 100 + Int(number) * 3, isFromPhone: leg & 1 == 0, now: now))
        case UInt8(ascii: "o"): take(legs.probed(handle, leg: leg, status: Int(number), now: now))
        case UInt8(ascii: "x"): take(legs.ended(handle, how: leg, status: 480, reason: "SIP", now: now))
        case UInt8(ascii: "r"): take(legs.registered(contact(rest), aor: "100", domain: "", now: now))
        case UInt8(ascii: "d"):
            take(legs.described(handle, as: LegUser(contacts: [contact(rest)]), now: now))
        case UInt8(ascii: "v"): verb(handle, rest)
        default:
            var out: [LegAction] = []
            if let message = MessageReader(line) { _ = legs.receive(message, now: now, &out) }
            take(out)
        }
    }

    private func contact(_ bytes: [UInt8]) -> WakeMessage.Contact {
        var contact = WakeMessage.Contact(uri: "sip:" + String(decoding: bytes, as: UTF8.self))
        contact.key = contact.uri
        contact.reach = CallContact.Reach(rawValue: bytes.first.map { $0 & 3 } ?? 0) ?? .datagram
        return contact
    }

    private mutating func receive(_ bytes: [UInt8]) { take(legs.receive(bytes.span, now: now)) }

    private mutating func verb(_ handle: UInt64, _ bytes: [UInt8]) {
        var writer = MessageWriter()
        writer.begin(.verbs, id: 0)
        for chunk in stride(from: 0, to: bytes.count - 3, by: 4) {
            writer.put(.verb, Int(bytes[chunk]) & 15)
            writer.put(.handle, Int64(bitPattern: handle))
            writer.put(.leg, Int(bytes[chunk + 1]))
            writer.put(.status, Int(bytes[chunk + 2]) * 3)
            writer.put(.replaces, Int(bytes[chunk + 3]))
            writer.put(.contactKey, String(decoding: bytes[chunk...], as: UTF8.self))
        }
        var out: [LegAction] = []
        if let message = MessageReader(writer.bytes) { _ = legs.receive(message, now: now, &out) }
        take(out)
    }

    private mutating func take(_ actions: [LegAction]) {
        for action in actions {
            switch action {
            case .answer(let bytes): check(bytes)
            case .describe(let subject, _):
                if !handles.contains(subject.handle) { handles.append(subject.handle) }
                if subject.handle & 4 == 0 { take(legs.described(subject.handle, as: LegUser(), now: now)) }
            case .ask(let bytes): answer(bytes)
            case .probe, .forward, .close, .dial, .resend, .forget: break
            }
        }
    }

    /// The engine answers some at once.
    private mutating func answer(_ bytes: [UInt8]) {
        guard let question = MessageReader(bytes), question.kind == .wake, question.id & 1 == 0 else { return }
        var reply = WakeAnswer(contacts: 1)
        (reply.isWatched, reply.hold, reply.limit) = (question.id & 2 == 0, Int64(question.id & 4), 1000)
        reply.legs = [UInt16(question.id & 8)]
        var writer = MessageWriter()
        writer.begin(.reply, id: question.id)
        reply.encode(into: &writer)
        var out: [LegAction] = []
        if let message = MessageReader(writer.bytes) { _ = legs.receive(message, now: now, &out) }
        take(out)
    }

    private func check(_ bytes: [UInt8]) {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
        let known = ["Via", "From", "To", "Call-ID", "CSeq", "Contact", "Content-Length", "X-PushWake-"]
        guard lines[0].hasPrefix("SIP/2.0 "), lines.count > 2, lines.suffix(2) == ["", ""] else {
            fatalError("\(lines)")
        }
        for line in lines.dropFirst().dropLast(2) where !known.contains(where: { line.hasPrefix($0) }) {
            fatalError("a line of its own: \(line)")
        }
    }

    /// Every call that nobody ends is over some time.
    mutating func end() {
        for _ in 0..<40 where legs.count > 0 {
            for handle in handles { take(legs.described(handle, as: LegUser(), now: now)) }
            now += 700_000
            take(legs.tick(now: now))
            for handle in handles { take(legs.ended(handle, how: 0, status: 487, reason: "", now: now)) }
        }
        now += 700_000
        take(legs.tick(now: now))
        let next = legs.nextDeadline()
        guard legs.count == 0, legs.transactions.isEmpty, legs.dialogs.isEmpty, next == nil else {
            fatalError("left: \(legs.count) \(legs.transactions.count)")
        }
    }
}
