// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

private func trace() -> CallTrace {
    var trace = CallTrace(method: "INVITE", aor: "bob", callID: "a@b", cseq: 7, from: "sip:al@example.com", now: 100)
    trace.name(0, CallTrace.Name(provider: .apns, app: "com.example", token: "abc123…wxyz"))
    return trace
}

extension CallTrace {
    fileprivate mutating func newLines() -> [String] { takeNewSteps().map { $0.line(of: self) } }
}

@Suite struct `New steps of a trace` {
    @Test func `are told once, in order`() {
        var trace = trace()
        trace.append([.note(.asleep(device: 0)), .note(.pushed(device: 0, .call))], now: 100)
        #expect(
            trace.newLines() == [
                "PushWake: INVITE for bob +0 ms: INVITE for bob from sip:al@example.com",
                "PushWake: INVITE for bob +0 ms: phone 1 is apns com.example, token abc123…wxyz",
                "PushWake: INVITE for bob +0 ms: phone 1 sleeps: pushed through apns (call)",
            ])
        #expect(trace.newLines().isEmpty)
        trace.append(.registered(device: 0), now: 112)
        #expect(trace.newLines() == ["PushWake: INVITE for bob +12 ms: phone 1 registers"])
    }

    @Test func `stay in order within a millisecond`() {
        var trace = trace()
        trace.append(.registered(device: 0), now: 100)
        trace.append(.unregistered(device: 0), now: 100)
        let steps = trace.takeNewSteps()
        #expect(steps.allSatisfy { $0.time == 100 })
        #expect(zip(steps, steps.dropFirst()).allSatisfy { $0.order < $1.order })
    }

    @Test func `have a push that takes the place of a line that was told`() {
        var trace = trace()
        trace.append(.asleep(device: 0), now: 100)
        _ = trace.takeNewSteps()
        trace.append(.pushed(device: 0, .call), now: 100)
        #expect(trace.newLines() == ["PushWake: INVITE for bob +0 ms: phone 1 sleeps: pushed through apns (call)"])
    }

    @Test func `are bounded like the trace`() {
        var trace = trace()
        for index in 0..<1000 { trace.append(.resent(device: 0, leg: index), now: 100 + Int64(index)) }
        #expect(trace.takeNewSteps().count == 2 + CallTrace.mostLines)
        for index in 0..<10 { trace.append(.resent(device: 0, leg: index), now: 2000) }
        #expect(trace.takeNewSteps().count == 10)
    }

    @Test func `name the request and the fields of the step as JSON`() throws {
        var trace = trace()
        let answer = PushResult(event: .call, outcome: .accepted, httpStatus: 200, microseconds: 43_000)
        trace.append(answer, device: 0, now: 143)
        let last = try #require(trace.takeNewSteps().last)
        let text = String(decoding: last.json(of: trace), as: UTF8.self)
        #expect(
            text
                == #"{"method":"INVITE","aor":"bob","call_id":"a@b","at_ms":43,"text":"apns accepts the call push to phone 1 after 43 ms","what":"push-ended","phone":1,"provider":"apns","event":"call","outcome":"accepted","http_status":200,"ms":43}"#
        )
    }

    @Test func `hold neither the token nor what a contact says of it`() {
        var trace = trace()
        trace.append(
            .rung(device: 0, leg: 1, contact: "sip:bob:secret@192.0.2.7;transport=tls;pn-prid=SECRETTOKEN"), now: 120)
        for step in trace.takeNewSteps() {
            let text = step.line(of: trace) + String(decoding: step.json(of: trace), as: UTF8.self)
            #expect(!text.contains("SECRETTOKEN") && !text.contains("secret"))
        }
    }
}
