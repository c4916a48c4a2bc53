// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Duplicate window` {
    private func content(_ event: PushEvent, call: String) -> PushContent { PushContent(event: event, callID: call) }

    @Test func `lets a request reach a token once`() {
        var dedupe = Dedupe(window: 0, seed: 1)
        let notes = [0, 100, 179_999, 180_000].map {
            dedupe.note(Samples.android, content(.call, call: "a"), now: $0)
        }
        #expect(notes == [nil, .sameRequest, .sameRequest, nil])
    }

    @Test func `lets the same request through for another event, token or call`() {
        var dedupe = Dedupe(window: 0, seed: 1)
        var notes = [dedupe.note(Samples.android, content(.call, call: "a"), now: 0)]
        notes.append(dedupe.note(Samples.android, content(.cancel, call: "a"), now: 0))
        notes.append(dedupe.note(Samples.voip, content(.call, call: "a"), now: 0))
        notes.append(dedupe.note(Samples.android, content(.call, call: "b"), now: 0))
        #expect(notes == [nil, nil, nil, nil])
    }

    @Test func `keeps a second push of a kind from a device for a while, twice as long for messages`() {
        var dedupe = Dedupe(window: 5000, seed: 1)
        let calls = [(0, "a"), (4999, "b"), (5000, "c")].map {
            dedupe.note(Samples.android, content(.call, call: $0.1), now: $0.0)
        }
        let chats = [(10_000, "d"), (19_999, "e"), (20_000, "f")].map {
            dedupe.note(Samples.android, content(.chat, call: $0.1), now: $0.0)
        }
        #expect(calls == [nil, .tooSoon(wait: 1), nil])
        #expect(chats == [nil, .tooSoon(wait: 1), nil])
    }

    @Test func `knows a device by its instance, whatever its token`() {
        var dedupe = Dedupe(window: 5000, seed: 1)
        let first = dedupe.note(Samples.voip, content(.call, call: "a"), now: 0)
        let second = dedupe.note(Samples.remote, content(.call, call: "b"), now: 1)
        var stranger = Samples.remote
        stranger.aor = "carol"
        let third = dedupe.note(stranger, content(.call, call: "c"), now: 1)
        #expect([first, second, third] == [nil, .tooSoon(wait: 4999), nil])
    }

    @Test func `allows another push at once when the device has registered`() {
        var dedupe = Dedupe(window: 5000, seed: 1)
        var notes = [dedupe.note(Samples.voip, content(.call, call: "a"), now: 0)]
        dedupe.release(Samples.voip)
        notes.append(dedupe.note(Samples.voip, content(.call, call: "b"), now: 1))
        notes.append(dedupe.note(Samples.voip, content(.call, call: "a"), now: 2))
        #expect(notes == [nil, nil, .sameRequest])
    }

    @Test func `never holds back what an operator sends by hand`() {
        var dedupe = Dedupe(window: 5000, seed: 1)
        let notes = (0..<3).map { dedupe.note(Samples.android, content(.custom, call: "\($0)"), now: 0) }
        #expect(notes == [nil, nil, nil])
    }

    @Test func `forgets, so that memory stays bounded`() {
        var dedupe = Dedupe(window: 5000, capacity: 1000, seed: 1)
        for index in 0..<50_000 {
            _ = dedupe.note(Samples.android, content(.call, call: "c\(index)"), now: Int64(index) * 6000)
        }
        #expect(dedupe.count <= 1002)
        for index in 0..<5000 { _ = dedupe.note(Samples.voip, content(.call, call: "x\(index)"), now: 1_000_000_000) }
        #expect(dedupe.count <= 1002)
    }
}
