// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// A machine whose verbs all go into a trace.
private struct Scene: ~Copyable {
    var machine: CallMachine
    var trace = CallTrace(method: "INVITE", aor: "bob", callID: "a@b", cseq: 7, from: "sip:alice@example.com", now: 100)

    init(_ devices: [CallDevice], policy: CallPolicy = CallPolicy()) {
        machine = CallMachine(event: .call, isCall: true, devices: devices, policy: policy, endsAt: 40_100)
        let providers: [Provider] = [.apns, .fcm]
        for index in devices.indices where devices[index].canBePushed {
            trace.name(
                index, CallTrace.Name(provider: providers[index % 2], app: "com.example", token: "abc123…wxyz"))
        }
        trace.append(machine.start(now: 100), now: 100)
    }

    mutating func note(_ now: Int64, _ verbs: [CallVerb]) { trace.append(verbs, now: now) }

    /// The lines as people read them.
    var lines: [String] { trace.lines.map { "+\($0.at) \(trace.sentence(of: $0))" } }
}

private func sleeper(_ token: String, _ contacts: [CallContact] = []) -> CallDevice {
    CallDevice(tokens: [token], contacts: contacts, canBePushed: true)
}

private let accepted = PushResult(event: .call, outcome: .accepted, httpStatus: 200, microseconds: 43_000)
private let home = CallContact(key: "sip:bob@192.0.2.7:5061;transport=tls;pn-prid=SECRETTOKEN", reach: .open)

extension CallTrace {
    fileprivate var sentences: [String] { lines.map(sentence(of:)) }
}

@Suite struct `Trace of a call` {
    @Test func `tells how a sleeping phone came to ring`() {
        var scene = Scene([sleeper("t")])
        scene.trace.append(accepted, device: 0, now: 143)
        scene.note(143, scene.machine.pushEnded(device: 0, isAccepted: true, now: 143))
        scene.note(2230, scene.machine.registered(CallRegistration(tokens: ["t"], contact: home), now: 2230))
        scene.note(2290, scene.machine.progressed(leg: 1, status: 180, isFromPhone: true, now: 2290))
        scene.note(6500, scene.machine.progressed(leg: 1, status: 200, isFromPhone: true, now: 6500))
        scene.note(6500, scene.machine.ended(.answered, now: 6500))
        let lines = scene.lines
        #expect(
            lines == [
                "+0 phone 1 sleeps: pushed through apns (call)",
                "+0 the request is held for up to 40 s",
                "+43 apns accepts the call push to phone 1 after 43 ms",
                "+43 the caller hears 110",
                "+2130 phone 1 registers",
                "+2130 phone 1 is rung at sip:bob@192.0.2.7:5061;transport=tls (leg 1)",
                "+2130 no other phone is waited for",
                "+2190 phone 1 rings (180)",
                "+6400 phone 1 answers (200)",
                "+6400 the request has ended: answered",
            ])
        #expect(scene.trace.summary == "phone 1 answered")
        #expect(scene.trace.introduction(of: 0) == "phone 1 is apns com.example, token abc123…wxyz")
    }

    @Test func `says that an accepted push woke nobody`() {
        var scene = Scene([sleeper("t")])
        scene.trace.append(accepted, device: 0, now: 143)
        scene.note(143, scene.machine.pushEnded(device: 0, isAccepted: true, now: 143))
        scene.note(40_100, scene.machine.tick(now: 40_100))
        scene.note(40_101, scene.machine.ended(.failed(480), now: 40_101))
        let end = scene.trace.end
        #expect(end?.how == .timedOut && end?.at == 40_001)
        #expect(scene.trace.summary == "apns accepted the push and phone 1 did not register")
        let last = scene.lines.suffix(2)
        #expect(last.first == "+40001 phone 1 is pushed through apns (missed)")
    }

    @Test func `names the provider's reason where no push reached the phone`() {
        var scene = Scene([sleeper("t")])
        let gone = PushResult(
            event: .call, outcome: .tokenGone, httpStatus: 410, isBindingRemoved: true, microseconds: 51_000,
            reason: "Unregistered")
        scene.trace.append(gone, device: 0, now: 151)
        scene.note(151, scene.machine.pushEnded(device: 0, isAccepted: false, now: 151))
        let lines = scene.lines.suffix(3)
        #expect(
            Array(lines) == [
                "+51 the call push to phone 1 ends after 51 ms: token-gone (Unregistered, HTTP 410); "
                    + "its binding is removed",
                "+51 no push wakes phone 1: it has no contact that could be rung",
                "+51 nobody is left to wait for: the best answer so far, or 480",
            ])
        #expect(scene.trace.summary == "no push reached phone 1: token-gone Unregistered")
    }

    @Test(arguments: [408, 487])
    func `does not call a phone that was left ringing one that declines`(status: Int) {
        var scene = Scene([CallDevice(contacts: [home])])
        scene.note(200, scene.machine.progressed(leg: 1, status: 180, isFromPhone: true, now: 200))
        scene.note(4200, scene.machine.progressed(leg: 1, status: status, isFromPhone: false, now: 4200))
        #expect(scene.trace.sentences.contains("phone 1 rang and nobody answered (\(status))"))
        #expect(scene.trace.summary == "phone 1 rang")
    }

    @Test func `tells a silent phone from a sleeping one, and a replaced leg from a new one`() {
        var scene = Scene([
            CallDevice(tokens: ["t"], contacts: [home], isAwake: true, canBePushed: true)
        ])
        scene.note(1602, scene.machine.tick(now: 1602))
        var other = home
        other.key = "sip:bob@198.51.100.9:40000"
        scene.note(3100, scene.machine.registered(CallRegistration(tokens: ["t"], contact: other), now: 3100))
        let lines = scene.lines
        #expect(
            lines == [
                "+0 phone 1 is awake: its connection is open",
                "+0 phone 1 is rung at sip:bob@192.0.2.7:5061;transport=tls (leg 1)",
                "+1502 phone 1 has been silent for 1502 ms: pushed through apns (call)",
                "+1502 the request is held for up to 38.5 s",
                "+3000 phone 1 registers",
                "+3000 phone 1 is rung at sip:bob@198.51.100.9:40000 (leg 2)",
                "+3000 the push to phone 1 is dropped if it has not left",
                "+3000 no other phone is waited for",
            ])
        #expect(scene.trace.summary == "phone 1 registered, was rung and did not answer")
    }

    @Test(arguments: [
        (CallNote.plain(device: 0), "phone 1 had no contact to ring"),
        (.legFailed(device: 0, leg: 1, status: 408), "phone 1 was not reached (408)"),
        (.progressed(device: 0, leg: 1, status: 100), "phone 1 had the request (100) and did not ring"),
        (.progressed(device: 0, leg: 1, status: 183), "phone 1 rang"),
        (.progressed(device: 0, leg: 1, status: 408), "phone 1 rang"),
        (.progressed(device: 0, leg: 1, status: 487), "phone 1 rang"),
        (.progressed(device: 0, leg: 1, status: 486), "phone 1 declined (486)"),
        (.rung(device: 0, leg: 1, contact: "sip:a@b"), "phone 1 was rung and did not answer"),
        (.pushed(device: 0, .call), "phone 1 did not register, and the provider has not answered the push"),
        (.notPushed(device: 0, .voipTokenOnly), "phone 1 is not pushed: a PushKit token may only get calls"),
        (.late(device: 0), "phone 1 came after the end"),
        (.copied, "there was no phone to ring"), (.resumed, "there was no phone to ring"),
        (
            .putOff(device: 0, 4321, .ignoreSame),
            "phone 1 was pushed a moment ago: the next push waits 4321 ms (ignore_same)"
        ),
        (
            .putOff(device: 0, 4321, LimitKey.device(1).setting),
            "phone 1 had many pushes: the next push waits 4321 ms (device_pushes)"
        ),
        (
            .putOff(device: 0, 4321, LimitKey.caller(1).setting),
            "phone 1 has a caller who has caused many pushes: the next push waits 4321 ms (caller_pushes)"
        ),
        (
            .putOff(device: 0, 4321, LimitKey.user(1).setting),
            "phone 1 has a user who had many pushes: the next push waits 4321 ms (aor_pushes)"
        ),
    ])
    func `sums up what one fact says about a phone`(note: CallNote, summary: String) {
        var trace = CallTrace(method: "INVITE", aor: "bob", callID: "a", cseq: 1, from: "", now: 0)
        trace.append(note, now: 5)
        #expect(trace.summary == summary)
        let sentence = trace.sentences.first ?? ""
        #expect(!sentence.isEmpty && !sentence.contains("0 ms"))
    }

    @Test(
        arguments: [
            ([.rung(device: 0, leg: 1, contact: "sip:a@b")], "phone 1 answered"),
            (
                [
                    .rung(device: 0, leg: 1, contact: "sip:a@b"), .rung(device: 1, leg: 2, contact: "sip:c@d"),
                    .progressed(device: 1, leg: 2, status: 180),
                ], "phone 1 was rung and did not answer; phone 2 answered"
            ),
            (
                [
                    .rung(device: 0, leg: 1, contact: "sip:a@b"), .progressed(device: 0, leg: 1, status: 180),
                    .rung(device: 1, leg: 2, contact: "sip:c@d"), .progressed(device: 1, leg: 2, status: 180),
                ], "phone 1 rang; phone 2 rang"
            ),
            ([.pushed(device: 0, .call)], "phone 1 did not register, and the provider has not answered the push"),
        ] as [([CallNote], String)])
    func `knows who answered when it can have been only one`(notes: [CallNote], summary: String) {
        var trace = CallTrace(method: "INVITE", aor: "bob", callID: "a", cseq: 1, from: "", now: 0)
        for note in notes { trace.append(note, now: 0) }
        trace.append(.ended(.answered), now: 9)
        #expect(trace.summary == summary)
    }

    @Test func `counts a push that only tells the end as no wake`() {
        var trace = CallTrace(method: "INVITE", aor: "bob", callID: "a", cseq: 1, from: "", now: 0)
        trace.append(.rung(device: 0, leg: 1, contact: "sip:a@b"), now: 0)
        trace.append(.pushed(device: 0, .cancel), now: 5)
        trace.append(PushResult(event: .cancel, outcome: .accepted, microseconds: 5000), device: 0, now: 10)
        #expect(trace.summary == "phone 1 was rung and did not answer")
    }

    @Test func `knows nothing of a call whose channel has gone on`() {
        var trace = CallTrace(method: "call", aor: "bob", callID: "a", cseq: 0, from: "", now: 0)
        trace.append(.pushed(device: 0, .call), now: 0)
        trace.append(.registered(device: 0), now: 900)
        trace.append(.rung(device: 0, leg: 1, contact: "sip:a@b"), now: 900)
        trace.append(.wentOn, now: 900)
        #expect(trace.summary == "phone 1 registered, and the dialplan went on")
        #expect(trace.sentences.last == "the dialplan goes on, and nobody says what becomes of the call")
        #expect(trace.header(now: 900).contains { $0.name == "end" && $0.value == .text("not watched") })
        trace.append(.ended(.completedElsewhere), now: 40_000)
        #expect(trace.header(now: 900).contains { $0.name == "end" && $0.value == .text("completed elsewhere") })
    }

    @Test(arguments: [
        ("sip:bob:secret@192.0.2.1;pn-prid=TOKEN", "sip:bob@192.0.2.1"),
        ("\"Bob\" <sips:bob@example.com;pn-prid=TOKEN;transport=WS>;x=TOKEN", "sips:bob@example.com;transport=WS"),
        ("sip:bob:sec;ret@192.0.2.1", "sip:bob"),
        ("sip:[2001:db8::1]:5060;ob", "sip:[2001:db8::1]:5060"),
        ("sip:bob@host?X-Token=TOKEN", "sip:bob@host"),
        ("sip:bob@host?X-Token=TOKEN;transport=tcp", "sip:bob@host;transport=tcp"),
        ("sip:bob@192.0.2.1:5060;x=TOKEN;transports=TOKEN;transport=udp", "sip:bob@192.0.2.1:5060;transport=udp"),
        ("sip:a:5060;b:secret@host;transport=tcp", "sip:a;transport=tcp"),
        ("sip:bob@host;transport=aaaaaaaaaaaaaaaaaaaaaaaaaaTOKEN", "sip:bob@host"),
        ("uloc-1-2-3", "uloc-1-2-3"), ("", ""), ("<", ""), (";;;>", ""), (":@:@", ":@@"),
        ("sip:b\u{1B}[31mob@h\r\nst", "sip:b?[31mob@h??st"),
    ])
    func `shows an address without password, token or what a terminal would obey`(contact: String, shown: String) {
        var trace = CallTrace(method: "INVITE", aor: "bob", callID: "a", cseq: 1, from: "", now: 0)
        trace.append(.rung(device: 0, leg: 1, contact: contact), now: 0)
        let sentence = trace.sentences.first
        #expect(sentence == "phone 1 is rung at \(shown) (leg 1)")
    }

    @Test func `loses lines from its middle when it grows too long, and says how many`() {
        var trace = CallTrace(method: "INVITE", aor: "bob", callID: "a", cseq: 1, from: "", now: 0)
        for index in 0..<1000 { trace.append(.registered(device: index), now: Int64(index)) }
        trace.append(.ended(.cancelled), now: 2000)
        #expect(trace.lines.count == CallTrace.mostLines)
        #expect(trace.omitted == 1001 - CallTrace.mostLines)
        let times = trace.lines.map(\.at)
        #expect(Array(times[..<24]) == Array(0..<24))
        #expect(times.last == 2000 && times[24] == 961)
        let gap = trace.rows()[24]
        #expect(gap[0].value == .number(961) && gap[1].value == .text("937 lines left out"))
    }

    @Test func `takes whatever a packet holds, cut`() {
        let long = String(repeating: "é", count: 100_000)
        var trace = CallTrace(method: long, aor: long, callID: long, cseq: .max, from: long, now: .max)
        for index in 0..<300 {
            trace.append(.rung(device: index * 7, leg: index * 1000, contact: "sip:\(index)\(long)"), now: .min)
            trace.append(
                PushResult(event: .call, outcome: .rejected, httpStatus: -1, microseconds: .min, reason: long),
                device: -5, now: 0)
            trace.name(index, CallTrace.Name(provider: .fcm, app: long, token: "…", instance: long))
        }
        let rows = [trace.header(now: .min)] + trace.rows()
        let bytes = rows.joined().reduce(0) { sum, field in
            guard case .text(let text) = field.value else { return sum + 8 }
            return sum + text.utf8.count
        }
        #expect(bytes < 60_000)
    }

    @Test func `gives machines each fact under a name of its own`() {
        var trace = CallTrace(method: "INVITE", aor: "bob", callID: "a@b", cseq: 3, from: "sip:al@x", now: 1000)
        trace.name(0, CallTrace.Name(provider: .fcm, app: "app", token: "abc…", instance: "1"))
        trace.append(.silent(device: 0, 1500), now: 2500)
        trace.append(.pushed(device: 0, .call), now: 2500)
        trace.append(
            PushResult(event: .call, outcome: .rejected, httpStatus: 400, microseconds: 7000, reason: "Bad"), device: 0,
            now: 2507)
        func plain(_ row: CallTrace.Row) -> [String] {
            row.filter { $0.name != "text" }.map { field in
                switch field.value {
                case .text(let text): "\(field.name)=\(text)"
                case .number(let number): "\(field.name)=\(number)"
                }
            }
        }
        let rows = trace.rows().map(plain)
        #expect(
            rows == [
                ["at_ms=0", "what=phone", "phone=1", "provider=fcm", "app=app", "token=abc…", "instance=1"],
                ["at_ms=1500", "what=pushed", "phone=1", "provider=fcm", "event=call", "cause=silent", "ms=1500"],
                [
                    "at_ms=1507", "what=push-ended", "phone=1", "provider=fcm", "event=call", "outcome=rejected",
                    "reason=Bad", "http_status=400", "ms=7",
                ],
            ])
        let header = plain(trace.header(now: 5600))
        #expect(
            header == [
                "started_ago=4", "method=INVITE", "aor=bob", "from=sip:al@x", "call_id=a@b", "cseq=3", "end=",
                "summary=no push reached phone 1: rejected Bad",
            ])
    }
}
