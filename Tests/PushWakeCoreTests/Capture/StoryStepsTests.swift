// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

private func story() -> CallStory {
    var story = CallStory(method: "INVITE", aor: "bob", callID: "a@b", cseq: 7, from: "sip:al@example.com", now: 100)
    story.name(0, CallStory.Name(provider: .apns, app: "com.example", token: "abc123…wxyz"))
    return story
}

extension CallStory {
    fileprivate mutating func newLines() -> [String] { takeNewSteps().map { $0.line(of: self) } }
}

@Suite struct `New steps of a story` {
    @Test func `are told once, in order`() {
        var story = story()
        story.append([.note(.asleep(device: 0)), .note(.pushed(device: 0, .call))], now: 100)
        #expect(
            story.newLines() == [
                "PushWake: INVITE for bob +0 ms: INVITE for bob from sip:al@example.com",
                "PushWake: INVITE for bob +0 ms: phone 1 is apns com.example, token abc123…wxyz",
                "PushWake: INVITE for bob +0 ms: phone 1 sleeps: pushed through apns (call)",
            ])
        #expect(story.newLines().isEmpty)
        story.append(.registered(device: 0), now: 112)
        #expect(story.newLines() == ["PushWake: INVITE for bob +12 ms: phone 1 registers"])
    }

    @Test func `stay in order within a millisecond`() {
        var story = story()
        story.append(.registered(device: 0), now: 100)
        story.append(.unregistered(device: 0), now: 100)
        let steps = story.takeNewSteps()
        #expect(steps.allSatisfy { $0.time == 100 })
        #expect(zip(steps, steps.dropFirst()).allSatisfy { $0.order < $1.order })
    }

    @Test func `have a push that takes the place of a line that was told`() {
        var story = story()
        story.append(.asleep(device: 0), now: 100)
        _ = story.takeNewSteps()
        story.append(.pushed(device: 0, .call), now: 100)
        #expect(story.newLines() == ["PushWake: INVITE for bob +0 ms: phone 1 sleeps: pushed through apns (call)"])
    }

    @Test func `are bounded like the story`() {
        var story = story()
        for index in 0..<1000 { story.append(.resent(device: 0, leg: index), now: 100 + Int64(index)) }
        #expect(story.takeNewSteps().count == 2 + CallStory.mostLines)
        for index in 0..<10 { story.append(.resent(device: 0, leg: index), now: 2000) }
        #expect(story.takeNewSteps().count == 10)
    }

    @Test func `name the request and the fields of the step as JSON`() throws {
        var story = story()
        let answer = PushAnswer(event: .call, outcome: .accepted, httpStatus: 200, milliseconds: 43)
        story.append(answer, device: 0, now: 143)
        let last = try #require(story.takeNewSteps().last)
        let text = String(decoding: last.json(of: story), as: UTF8.self)
        #expect(
            text
                == #"{"method":"INVITE","aor":"bob","call_id":"a@b","at_ms":43,"text":"apns accepts the call push to phone 1 after 43 ms","what":"push-ended","phone":1,"provider":"apns","event":"call","outcome":"accepted","http_status":200,"ms":43}"#
        )
    }

    @Test func `hold neither the token nor what a contact says of it`() {
        var story = story()
        story.append(
            .rung(device: 0, leg: 1, contact: "sip:bob:secret@192.0.2.7;transport=tls;pn-prid=SECRETTOKEN"), now: 120)
        for step in story.takeNewSteps() {
            let text = step.line(of: story) + String(decoding: step.json(of: story), as: UTF8.self)
            #expect(!text.contains("SECRETTOKEN") && !text.contains("secret"))
        }
    }
}
