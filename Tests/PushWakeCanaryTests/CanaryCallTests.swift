// SPDX-License-Identifier: MIT

import PushWakeCanary
import PushWakeCore
import Testing

private func plan(_ transport: CanaryPlan.Transport = .udp, goal: CanaryPlan.Goal = .ringing) -> CanaryPlan {
    var plan = CanaryPlan(
        target: "sip:test@pbx.example.com", caller: "sip:canary@pbx.example.com", localAddress: "192.0.2.1:40000",
        callID: "canary-1", random: 12345, hash: { _, bytes in bytes })
    plan.transport = transport
    plan.goal = goal
    return plan
}

private func text(_ action: CanaryAction?) -> String {
    guard case .send(let bytes) = action else { return "" }
    return String(decoding: bytes, as: UTF8.self)
}

private func result(_ actions: [CanaryAction]) -> CanaryResult? {
    guard case .finish(let result) = actions.last else { return nil }
    return result
}

/// Words of the first line.
private func method(_ action: CanaryAction?) -> String { String(text(action).prefix { $0 != " " }) }

private func header(_ name: String, of action: CanaryAction?) -> String {
    text(action).split(separator: "\r\n").first { $0.hasPrefix("\(name): ") }.map {
        String($0.dropFirst(name.count + 2))
    }
        ?? ""
}

private func reply(_ status: String, _ cseq: String, callID: String = "canary-1", further: [String] = []) -> [UInt8] {
    let lines =
        [
            "SIP/2.0 \(status)", "Via: SIP/2.0/UDP 192.0.2.1:40000;branch=z9hG4bKx", "From: <sip:canary@x>;tag=1",
            "To: <sip:test@pbx.example.com>;tag=phone", "Call-ID: \(callID)", "CSeq: \(cseq)",
        ] + further + ["Content-Length: 0", "", ""]
    return Array(lines.joined(separator: "\r\n").utf8)
}

@Suite struct `Call of a canary` {
    @Test func `ends when the phone rings`() {
        var call = CanaryCall(plan(), now: 1000)
        let invite = call.start(now: 1000).first
        #expect(text(invite).hasPrefix("INVITE sip:test@pbx.example.com SIP/2.0\r\n"))
        #expect(call.received(reply("100 Trying", "1 INVITE"), now: 1010).isEmpty)
        #expect(call.received(reply("110 Push sent", "1 INVITE"), now: 1050).isEmpty)
        let cancel = call.received(reply("180 Ringing", "1 INVITE"), now: 2800)
        #expect(method(cancel.first) == "CANCEL")
        #expect(header("Via", of: cancel.first) == header("Via", of: invite))
        #expect(header("CSeq", of: cancel.first) == "1 CANCEL")
        #expect(call.received(reply("200 OK", "1 CANCEL"), now: 2810).isEmpty)
        let end = call.received(reply("487 Request Terminated", "1 INVITE"), now: 2820)
        #expect(method(end.first) == "ACK" && header("To", of: end.first).hasSuffix(";tag=phone"))
        #expect(
            result(end)
                == CanaryResult(
                    isGood: true, ringing: 1800, cancelled: 1800, ended: 1820, status: 180, text: "the phone rang"))
        #expect(call.deadline == nil)
    }

    @Test func `hangs up when it is answered, along the route`() {
        var call = CanaryCall(plan(), now: 0)
        _ = call.start(now: 0)
        let further = ["Contact: <sip:test@192.0.2.7:5061>", "Record-Route: <sip:a;lr>, <sip:b;lr>"]
        let actions = call.received(reply("200 OK", "1 INVITE", further: further), now: 700)
        #expect(actions.map { method($0) } == ["ACK", "BYE"])
        #expect(text(actions.last).hasPrefix("BYE sip:test@192.0.2.7:5061 SIP/2.0\r\n"))
        let routes = text(actions.last).split(separator: "\r\n").filter { $0.hasPrefix("Route: ") }
        #expect(routes == ["Route: <sip:b;lr>", "Route: <sip:a;lr>"])
        #expect(header("CSeq", of: actions.last) == "2 BYE")
        let again = call.received(reply("200 OK", "1 INVITE", further: further), now: 900)
        #expect(again == [actions[0]])
        let end = result(call.received(reply("200 OK", "2 BYE"), now: 950))
        #expect(
            end
                == CanaryResult(
                    isGood: true, ringing: 700, answer: 700, ended: 700, status: 200, text: "the call was answered"))
    }

    @Test func `waits for the answer when that is the goal`() {
        var call = CanaryCall(plan(goal: .answer), now: 0)
        _ = call.start(now: 0)
        #expect(call.received(reply("180 Ringing", "1 INVITE"), now: 300).isEmpty)
        _ = call.received(reply("200 OK", "1 INVITE"), now: 900)
        let end = result(call.received(reply("200 OK", "2 BYE"), now: 950))
        #expect(end?.ringing == 300 && end?.answer == 900)
    }

    @Test func `fails when nobody rings in time, and takes the call back`() {
        var call = CanaryCall(plan(), now: 0)
        _ = call.start(now: 0)
        _ = call.received(reply("110 Push sent", "1 INVITE"), now: 50)
        #expect(call.deadline == 20_000)
        #expect(method(call.tick(now: 20_000).first) == "CANCEL")
        let end = result(call.received(reply("487 Request Terminated", "1 INVITE"), now: 20_030))
        #expect(end?.isGood == false && end?.text == "no phone rang within 20 s; the last answer was 110")
    }

    @Test func `ends when the PBX forgets the end`() {
        var call = CanaryCall(plan(.tcp), now: 0)
        _ = call.start(now: 0)
        _ = call.received(reply("180 Ringing", "1 INVITE"), now: 100)
        #expect(call.deadline == 5100)
        #expect(result(call.tick(now: 5100))?.isGood == true)
    }

    @Test func `repeats over UDP until it hears something, and not over TCP`() {
        var call = CanaryCall(plan(), now: 0)
        let invite = call.start(now: 0)
        #expect(call.deadline == 500)
        #expect(call.tick(now: 500) == invite)
        #expect(call.deadline == 1500)
        _ = call.received(reply("100 Trying", "1 INVITE"), now: 1510)
        #expect(call.deadline == 20_000)
        var stream = CanaryCall(plan(.tcp), now: 0)
        _ = stream.start(now: 0)
        #expect(stream.deadline == 20_000)
        #expect(result(stream.tick(now: 20_000))?.text == "the PBX did not answer within 20 s")
    }

    @Test func `takes the call back when it is told to`() {
        var call = CanaryCall(plan(.tcp, goal: .answer), now: 0)
        _ = call.start(now: 0)
        #expect(call.received(reply("180 Ringing", "1 INVITE"), now: 1000).isEmpty)
        #expect(method(call.hangUp(now: 4000).first) == "CANCEL")
        #expect(call.hangUp(now: 4001).isEmpty)
        let end = result(call.received(reply("487 Request Terminated", "1 INVITE"), now: 4020))
        #expect(end?.ringing == 1000 && end?.cancelled == 4000 && end?.ended == 4020)
    }

    @Test(arguments: [
        ("202 Accepted", true, "the text was taken"), ("480 Gone", false, "the text was refused: 480 Gone"),
    ])
    func `sends a text, which is over with its answer`(_ status: String, isGood: Bool, words: String) {
        var plan = plan()
        plan.content = .text
        var call = CanaryCall(plan, now: 0)
        let message = call.start(now: 0).first
        #expect(method(message) == "MESSAGE" && header("Content-Type", of: message) == "text/plain")
        #expect(header("Contact", of: message).isEmpty)
        let actions = call.received(reply(status, "1 MESSAGE"), now: 700)
        #expect(actions.count == 1 && result(actions)?.isGood == isGood && result(actions)?.text == words)
        var silent = CanaryCall(plan, now: 0)
        _ = silent.start(now: 0)
        _ = silent.received(reply("100 Trying", "1 MESSAGE"), now: 10)
        #expect(silent.tick(now: 20_000).count == 1)
    }

    @Test func `offers video where it is asked to`() {
        var plan = plan()
        plan.content = .video
        var call = CanaryCall(plan, now: 0)
        #expect(text(call.start(now: 0).first).contains("m=video 9 RTP/AVP 96\r\n"))
    }

    @Test(arguments: [
        ("404 Not Found", "", "404 Not Found; it knows no such user"), ("486 Busy Here", "", "486 Busy Here"),
        ("403 Forbidden", "Warning: 399 pbx \"caller is not local\"", "403 Forbidden (caller is not local); it wants"),
        ("503 Unavailable", "Reason: Q.850;cause=38;text=\"no trunk\"", "503 Unavailable (no trunk)"),
    ])
    func `names a refusal, why, and what to do`(_ status: String, _ header: String, _ text: String) {
        var call = CanaryCall(plan(), now: 0)
        _ = call.start(now: 0)
        let further = header.isEmpty ? [] : [header]
        let end = result(call.received(reply(status, "1 INVITE", further: further), now: 5))
        #expect(end?.isGood == false && end?.text.hasPrefix("the call was refused: \(text)") == true)
    }

    @Test(arguments: [
        ("401 Unauthorized", "WWW-Authenticate", "Authorization"),
        ("407 Proxy Authentication Required", "Proxy-Authenticate", "Proxy-Authorization"),
    ])
    func `says who it is once`(_ status: String, _ asks: String, _ answers: String) {
        var plan = plan()
        plan.account = CanaryPlan.Account(name: "canary", password: Secret("secret"))
        var call = CanaryCall(plan, now: 0)
        _ = call.start(now: 0)
        let challenge = ["\(asks): Digest realm=\"pbx\", nonce=\"n1\", algorithm=MD5, qop=\"auth\""]
        let actions = call.received(reply(status, "1 INVITE", further: challenge), now: 5)
        #expect(actions.map { method($0) } == ["ACK", "INVITE"])
        #expect(header("CSeq", of: actions.last) == "2 INVITE")
        let line = header(answers, of: actions.last)
        #expect(line.hasPrefix("Digest username=\"canary\", realm=\"pbx\", nonce=\"n1\"") && !line.contains("secret"))
        #expect(header("Via", of: actions.last) != header("Via", of: actions.first))
        // Its acknowledgement was lost.
        let again = call.received(reply(status, "1 INVITE", further: challenge), now: 7)
        #expect(again == Array(actions.prefix(1)) && header("CSeq", of: again.first) == "1 ACK")
        let end = result(call.received(reply(status, "2 INVITE", further: challenge), now: 9))
        #expect(end?.text.hasPrefix("the call was refused: 40") == true)
    }

    @Test func `answers a phone that hangs up`() {
        var call = CanaryCall(plan(), now: 0)
        _ = call.start(now: 0)
        _ = call.received(reply("200 OK", "1 INVITE"), now: 100)
        let bye =
            "BYE sip:canary@192.0.2.1 SIP/2.0\r\nVia: a\r\nFrom: b\r\nTo: c\r\nCall-ID: canary-1\r\nCSeq: 9 BYE\r\n\r\n"
        let actions = call.received(Array(bye.utf8), now: 150)
        #expect(text(actions.first).hasPrefix("SIP/2.0 200 OK\r\nvia: a\r\n") && result(actions)?.isGood == true)
    }

    @Test(arguments: ["", "\r\n\r\n", "SIP/2.0", "SIP/2.0 abc\r\n\r\n", "INVITE", "\u{0}\u{1}"])
    func `hears nothing in what is no SIP`(_ text: String) {
        var call = CanaryCall(plan(), now: 0)
        _ = call.start(now: 0)
        #expect(call.received(Array(text.utf8), now: 1).isEmpty)
        #expect(call.received(reply("180 Ringing", "1 INVITE", callID: "another"), now: 1).isEmpty)
        #expect(call.received(reply("180 Ringing", "7 INVITE"), now: 1).isEmpty)
    }
}

@Suite struct `Stream of SIP messages` {
    @Test func `is cut where Content-Length says, however it comes`() throws {
        let one = reply("100 Trying", "1 INVITE")
        let two = Array("SIP/2.0 180 Ringing\r\nl: 3\r\n\r\nabc".utf8)
        let all = Array("\r\n\r\n".utf8) + one + two + one
        for size in [1, 2, 7, 1000] {
            var stream = SIPStream()
            var found: [[UInt8]] = []
            for start in stride(from: 0, to: all.count, by: size) {
                let messages = stream.feed(Array(all[start..<min(start + size, all.count)]))
                found += try #require(messages)
            }
            #expect(found == [one, two, one])
        }
    }

    @Test(arguments: ["hello\r\n\r\n", "SIP/2.0 200 OK\r\nContent-Length: 99999999\r\n\r\n"])
    func `is refused when it is no SIP`(_ text: String) {
        var stream = SIPStream()
        #expect(stream.feed(Array(text.utf8)) == nil)
    }

    @Test func `is refused when its head has no end`() {
        var stream = SIPStream()
        #expect(stream.feed(Array(repeating: 0x41, count: 70_000)) == nil)
    }
}

@Suite struct `Report of a canary` {
    @Test func `is text for Prometheus, with the time only when it rang`() {
        let good = CanaryResult(isGood: true, ringing: 1812, status: 180, text: "the phone rang")
        let text = String(
            decoding: CanaryReport.metrics(good, user: "sip:t@x", wallSeconds: 1_700_000_000), as: UTF8.self)
        #expect(text.contains("pushwake_canary_success{user=\"sip:t@x\"} 1\n"))
        #expect(text.contains("pushwake_canary_ring_seconds{user=\"sip:t@x\"} 1.812\n"))
        #expect(text.contains("pushwake_canary_last_run_timestamp_seconds{user=\"sip:t@x\"} 1700000000\n"))
        let bad = CanaryResult(isGood: false, status: 480, text: "")
        let other = String(decoding: CanaryReport.metrics(bad, user: "x", wallSeconds: 1), as: UTF8.self)
        #expect(other.contains("pushwake_canary_success{user=\"x\"} 0\n") && !other.contains("ring_seconds"))
    }
}
