// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeClient
@testable import PushWakeCore

@Suite struct `A channel in the push hook` {
    private static let ok = "200 result=1"
    private static let question = AGISession.Action.say(
        "GET FULL VARIABLE \"${CHANNEL(pjsip,call-id)} ${CHANNEL(videonativeformat)} ${CHANNEL(checkhangup)} ${CHANNEL(pjsip,remote_uri)}\""
    )

    /// A session that has been introduced and waits for the answer about its channel.
    private func introduced(
        _ arguments: String..., lines: [String] = [], question: AGISession.Action = Self.question
    ) -> AGISession {
        var session = AGISession(arguments: arguments)
        for line in ["agi_callerid: 42", "agi_calleridname: Ann", "agi_uniqueid: 17.3"] + lines {
            #expect(session.line(line, now: 0) == [])
        }
        #expect(session.line("", now: 0) == [question])
        return session
    }

    /// A session that waits for a phone since 1000.
    private func waiting() -> AGISession {
        var session = introduced("wake", "100", "40")
        _ = session.line("200 result=1 (abc@host)", now: 1000)
        _ = session.woke(answer(bindings: 1, pushed: 1))
        return session
    }

    private func answer(bindings: Int, pushed: Int = 0, awake: Int = 0) -> WakeAnswer {
        var made = WakeAnswer(contacts: 0)
        (made.bindings, made.pushed, made.awake) = (bindings, pushed, awake)
        return made
    }

    @Test(arguments: [
        ("agi://h/wake?aor=100&token=correct-horse", true), ("agi://h/wake?aor=100", false),
        ("agi://h/wake?aor=100&token=correct-hors", false), ("agi://h/wake?aor=100&token=correct-horse1", false),
        ("agi://h/wake?token=correct-horse", true), ("agi://h/wake", false),
    ])
    func `needs the token where one is set`(request: String, isGood: Bool) {
        var session = AGISession(arguments: nil, token: "correct-horse")
        #expect(session.isIntroducing)
        for line in ["agi_request: \(request)", "agi_arg_1: 100"] { _ = session.line(line, now: 0) }
        let actions = session.line("", now: 0)
        #expect(!session.isIntroducing)
        #expect((actions == [Self.question]) == isGood)
    }

    @Test func `neither asks nor tells who calls when that is withheld`() {
        var session = introduced(
            "wake", "100", "40", lines: ["agi_callingpres: 35"],
            question: .say(
                "GET FULL VARIABLE \"${CHANNEL(pjsip,call-id)} ${CHANNEL(videonativeformat)} ${CHANNEL(checkhangup)}\"")
        )
        guard case .wake(let message) = session.line("200 result=1 (abc@host)", now: 0).first else {
            Issue.record("it wakes nobody")
            return
        }
        #expect(message.fromURI == "sip:anonymous@anonymous.invalid" && message.fromDisplay.isEmpty)
    }

    @Test func `is asked nothing that its kind has not`() {
        var session = introduced(
            "wake", "100", "40", lines: ["agi_type: Local"],
            question: .say("GET FULL VARIABLE \" ${CHANNEL(videonativeformat)} ${CHANNEL(checkhangup)}\""))
        guard case .wake(let message) = session.line("200 result=1 ( (h264) 0)", now: 0).first else {
            Issue.record("it wakes nobody")
            return
        }
        #expect(message.callID == "17.3" && message.offersVideo && message.fromURI == "sip:42@localhost")
        _ = introduced("wake", "100", "40", lines: ["agi_type: PJSIP"])
    }

    @Test func `is not introduced without end`() {
        var session = AGISession(arguments: nil)
        for _ in 1...256 { #expect(session.line("a:b", now: 0) == []) }
        #expect(session.line("a:b", now: 0) == [.close])
        #expect(!session.isIntroducing && session.line("", now: 0) == [])
    }

    /// Answers every command with success; the commands that were said, up to the close.
    private func said(_ session: inout AGISession, _ actions: [AGISession.Action]) -> [String] {
        var lines: [String] = []
        var actions = actions
        while case .say(let line)? = actions.first, lines.count < 20 {
            lines.append(line)
            actions = session.line(Self.ok, now: 0)
        }
        #expect(actions == [.close])
        return lines
    }

    private func status(_ lines: [String]) -> String {
        lines.first { $0.hasPrefix("SET VARIABLE PUSHWAKE_STATUS ") }.map { String($0.dropFirst(29)) } ?? ""
    }

    @Test(arguments: [
        ("200 result=1 (abc@host (nothing) 0)", "abc@host", false), ("200 result=0", "17.3", false),
        ("200 result=1 ()", "17.3", false), ("200 result=1 ( (nothing) 0)", "17.3", false),
        ("200 result=1 (abc@host (h264|vp8) 0)", "abc@host", true), ("200 result=1 ( (vp8) 0)", "17.3", true),
        ("200 result=1 (abc@host)", "abc@host", false), ("200 result=1 (abc@host )", "abc@host", false),
    ])
    func `names the call by its Call-ID, or by the channel`(_ reply: String, _ callID: String, _ hasVideo: Bool) {
        var session = introduced("wake", "100", "40")
        var expected = WakeMessage()
        (expected.aor, expected.seconds, expected.callID, expected.hasNoContacts) = ("100", 40, callID, true)
        (expected.fromURI, expected.fromDisplay, expected.toURI) = ("sip:42@localhost", "Ann", "100")
        expected.offersVideo = hasVideo
        #expect(session.line(reply, now: 5) == [.wake(expected)])
        #expect(session.isWaiting)
    }

    @Test(arguments: [("wake", "\"FAILED\""), ("send", nil)])
    func `wakes nobody for a caller who has hung up, and sends what is asked for`(command: String, status: String?) {
        var session = command == "wake" ? introduced("wake", "100", "40") : introduced("send", "missed", "100")
        let actions = session.line("200 result=1 (abc@host (nothing) 1 <sip:100@example.org>)", now: 5)
        guard let status else {
            if case .send? = actions.first { return }
            Issue.record("\(actions)")
            return
        }
        let lines = said(&session, actions)
        #expect(lines.first?.contains("the caller has hung up") == true && self.status(lines) == status)
    }

    @Test(arguments: [
        (#"200 result=1 (abc@host (nothing) 0 "Ann (Lee)" <sip:100@example.org>)"#, "sip:42@example.org"),
        ("200 result=1 (abc@host (h264) 0 <sip:100@[2001:db8::7]>)", "sip:42@[2001:db8::7]"),
        ("200 result=1 ( (nothing) 0 )", "sip:42@localhost"),
    ])
    func `names the caller at the caller's own domain, as the module does`(_ reply: String, _ uri: String) {
        var session = introduced("wake", "100", "40")
        guard case .wake(let message)? = session.line(reply, now: 5).first else {
            Issue.record("nobody is woken")
            return
        }
        #expect(message.fromURI == uri && message.fromDisplay == "Ann")
    }

    @Test(arguments: [
        ["agi_request: agi://h/wake?aor=100&timeout=40&pjsip_call_id=abc%40host"],
        ["agi_request: agi://h/wake", "agi_arg_1: 100", "agi_arg_2: 40", "agi_arg_3: abc@host"],
    ])
    func `asks a channel nothing whose script says its Call-ID`(lines: [String]) {
        var session = AGISession(arguments: nil)
        for line in lines + ["agi_callerid: 42", "agi_uniqueid: 17.3"] { _ = session.line(line, now: 0) }
        var expected = WakeMessage()
        (expected.aor, expected.seconds, expected.callID, expected.hasNoContacts) = ("100", 40, "abc@host", true)
        (expected.fromURI, expected.toURI) = ("sip:42@localhost", "100")
        #expect(session.line("", now: 7) == [.wake(expected)])
        #expect(session.isWaiting)
    }

    @Test func `refuses what is no Call-ID, and says what to write`() {
        var session = AGISession(arguments: nil)
        _ = session.line("agi_request: agi://h/wake?aor=100&pjsip_call_id=a+b", now: 0)
        guard case .say(let line)? = session.line("", now: 0).first else {
            Issue.record("nothing is said")
            return
        }
        #expect(line.contains("pjsip_call_id") && line.contains("URIENCODE"))
    }

    @Test func `takes its arguments from the environment when the script has none`() {
        var session = introduced(lines: ["agi_arg_1: bindings", "agi_arg_2: 100"])
        #expect(session.line(Self.ok, now: 0) == [.listBindings(aor: "100")])
    }

    @Test func `sends with what the channel knows of the caller`() {
        var session = introduced("send", "missed", "100", "called")
        #expect(
            session.line("200 result=1 (c)", now: 0) == [
                .send(.missed, aor: "100", text: "called", callID: "c", fromURI: "sip:42@localhost", fromDisplay: "Ann")
            ])
    }

    @Test func `says where the woken phone is and how long it took`() {
        var session = waiting()
        #expect(session.isWaiting)
        let event = WaitEvent(kind: .registered, contact: "sip:100@192.0.2.7:5060;pn-prid=secret;transport=tcp")
        let lines = said(&session, session.received(event, now: 1250))
        #expect(
            lines == [
                "SET VARIABLE PUSHWAKE_STATUS \"WOKEN\"",
                "SET VARIABLE PUSHWAKE_CONTACTS \"PJSIP/100/sip:100@192.0.2.7:5060;transport=tcp\"",
                "SET VARIABLE PUSHWAKE_WOKEN_MS \"250\"",
            ])
    }

    @Test(arguments: [
        "", "sip:1&SIP/2@x", "sip:1,2@x", "sip:a|b@x", "sip:a\"b@x", "sip:${SHELL(id)}@x", "sip:a b@x", "sip:\u{e9}@x",
        "sip:1/2@x", "sip:a\\b@x",
    ])
    func `dials the endpoint when the contact could harm a dial string`(_ contact: String) {
        var session = waiting()
        let lines = said(&session, session.received(WaitEvent(kind: .registered, contact: contact), now: 1000))
        #expect(lines.contains("SET VARIABLE PUSHWAKE_CONTACTS \"PJSIP/100\""))
    }

    @Test(arguments: [
        (0, 0, 0, "\"NOBINDING\""), (1, 0, 1, "\"AWAKE\""), (2, 1, 1, "\"AWAKE\""), (1, 0, 0, "\"FAILED\""),
    ])
    func `does not wait when nobody is to come, or somebody is there`(
        _ bindings: Int, _ pushed: Int, _ awake: Int, _ expected: String
    ) {
        var session = introduced("wake", "100")
        _ = session.line(Self.ok, now: 0)
        let actions = session.woke(answer(bindings: bindings, pushed: pushed, awake: awake))
        #expect(!session.isWaiting)
        #expect(status(said(&session, actions)) == expected)
    }

    @Test func `goes on when no phone comes`() {
        var session = waiting()
        #expect(status(said(&session, session.received(WaitEvent(kind: .timedOut), now: 41_000))) == "\"TIMEOUT\"")
    }

    @Test func `puts the reason of a failure on the console`() {
        var session = waiting()
        let event = WaitEvent(kind: .failed, reason: "rejected \"BadDeviceToken\"\r\nSET VARIABLE X 1")
        let lines = said(&session, session.received(event, now: 1000))
        #expect(lines.first == "VERBOSE \"pushwake: rejected \\\"BadDeviceToken\\\"  SET VARIABLE X 1\" 1")
        #expect(status(lines) == "\"FAILED\"")
    }

    @Test func `goes on without an engine`() {
        var session = introduced("wake", "100")
        _ = session.line(Self.ok, now: 0)
        let lines = said(&session, session.engineLost("no engine"))
        #expect(status(lines) == "\"UNAVAILABLE\"")
        #expect(lines.first == "VERBOSE \"pushwake: no engine\" 1")
    }

    @Test(arguments: [
        (["send", "missed", "100"], ["SENT \"0\""]),
        (["bindings", "100"], ["BINDINGS \"0\"", "PROVIDERS \"\""]),
    ])
    func `leaves no variable of an earlier command when the engine is lost`(arguments: [String], variables: [String]) {
        var session = introduced(lines: arguments.enumerated().map { "agi_arg_\($0 + 1): \($1)" })
        #expect(session.line(Self.ok, now: 0).count == 1)
        let lines = said(&session, session.engineLost("no engine"))
        #expect(status(lines) == "\"UNAVAILABLE\"")
        #expect(lines.suffix(variables.count) == variables.map { "SET VARIABLE PUSHWAKE_\($0)" }[...])
    }

    @Test func `hears no answer after the end`() {
        var session = introduced("send", "missed", "100")
        _ = session.line(Self.ok, now: 0)
        #expect(session.ended() == [.hangUp, .close])
        #expect(session.sent(1) == [] && session.notSent(because: "no", isMissing: true) == [])
        #expect(session.listed(["apns"]) == [] && !session.expectsAnswer)
    }

    @Test func `fails with the remedy when the arguments are wrong`() {
        var session = AGISession(arguments: ["wake"])
        let lines = said(&session, session.line("", now: 0))
        #expect(status(lines) == "\"FAILED\"")
        #expect(lines.first?.contains("write wake AOR [TIMEOUT [CALL-ID]]") == true)
    }

    @Test func `tells the engine when the caller hangs up while it waits`() {
        var session = waiting()
        #expect(session.line("HANGUP", now: 2000) == [.hangUp, .close])
        #expect(session.received(WaitEvent(kind: .registered, contact: "sip:100@x"), now: 2001) == [])
        #expect(session.engineLost("gone") == [])
        session = waiting()
        #expect(session.ended() == [.hangUp, .close])
        session = introduced("wake", "100")
        #expect(session.ended() == [.close])
    }

    @Test(arguments: ["100&Local/900@x", "100|x", "100,x", "100/x", "${EXTEN}@x", "1 0@x", ""])
    func `hands no user to Dial() who would be something else there`(aor: String) {
        var session = introduced("wake", aor.isEmpty ? "@x" : aor, "40")
        _ = session.line("200 result=1 (abc@host)", now: 0)
        let lines = said(&session, session.woke(answer(bindings: 1, awake: 1)))
        #expect(lines.contains("SET VARIABLE PUSHWAKE_CONTACTS \"\""), "\(lines)")
    }

    @Test func `hands over a user whose name has letters of another language`() {
        var session = introduced("wake", "müller@x", "40")
        _ = session.line("200 result=1 (abc@host)", now: 0)
        let lines = said(&session, session.woke(answer(bindings: 1, awake: 1)))
        #expect(lines.contains("SET VARIABLE PUSHWAKE_CONTACTS \"PJSIP/müller\""), "\(lines)")
    }

    @Test func `hears only the first of several phones`() {
        var session = waiting()
        #expect(session.received(WaitEvent(kind: .registered, contact: "sip:100@192.0.2.1"), now: 1001) != [])
        #expect(session.received(WaitEvent(kind: .registered, contact: "sip:100@192.0.2.2"), now: 1002) == [])
    }

    @Test func `knows when Asterisk has to answer`() {
        var session = AGISession(arguments: ["wake", "100", "40"])
        #expect(!session.expectsAnswer)
        _ = session.line("", now: 0)
        #expect(session.expectsAnswer)
        _ = session.line("200 result=1 (abc@host)", now: 1000)
        #expect(session.isWaiting && !session.expectsAnswer)
        _ = session.received(WaitEvent(kind: .timedOut), now: 1000)
        #expect(session.expectsAnswer)
        _ = session.ended()
        #expect(!session.expectsAnswer)
    }

    @Test func `takes the lines of a usage text for one answer`() {
        var session = waiting()
        var actions = session.received(WaitEvent(kind: .timedOut), now: 1000)
        #expect(actions.count == 1)
        actions = session.line("520-Invalid command syntax.  Proper usage follows:", now: 0)
        #expect(actions == [])
        #expect(session.line("Usage: SET VARIABLE <variablename> <value>", now: 0) == [])
        #expect(session.line("520 End of proper usage.", now: 0) == [.say("SET VARIABLE PUSHWAKE_CONTACTS \"\"")])
    }

    @Test func `ends on a line without end`() {
        var session = AGISession(arguments: ["wake", "100"])
        #expect(session.line(String(repeating: "x", count: 8193), now: 0) == [.close])
    }

    /// Asterisk reads a command into 2048 bytes; the rest of a longer one would be the next command.
    @Test(arguments: ["x", "\"", "\u{1F4DE}", "\n"])
    func `says nothing that Asterisk would cut`(_ text: String) {
        var session = waiting()
        let event = WaitEvent(kind: .failed, reason: String(repeating: text, count: 5000))
        for line in said(&session, session.received(event, now: 1000)) {
            #expect(line.utf8.count < 2047)
            #expect(!line.contains("\n"))
        }
    }
}
