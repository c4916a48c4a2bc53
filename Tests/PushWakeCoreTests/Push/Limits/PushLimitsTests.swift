// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Limits of pushes` {
    private func limits(device: Int64 = 0, caller: Int64 = 0, user: Int64 = 0, capacity: Int = 1000) -> PushLimits {
        PushLimits(
            device: .init(burst: device, interval: 5000), caller: .init(burst: caller, interval: 5000),
            user: .init(burst: user, interval: 1000), capacity: capacity, seed: 7)
    }

    /// Pushes that go when one is wanted each 100 ms.
    private func count(
        _ limits: inout PushLimits, _ push: (Int64) -> (Binding, PushContent), from start: Int64 = 0, to end: Int64
    ) -> Int {
        var count = 0
        for now in stride(from: start, to: end, by: 100) {
            let (binding, content) = push(now)
            guard limits.pause(limits.names(binding, content), now: now) == 0 else { continue }
            limits.note(limits.names(binding, content), now: now)
            count += 1
        }
        return count
    }

    private func call(_ token: String = "t", aor: String = "alice", from: String = "sip:bob@h") -> (
        Binding, PushContent
    ) {
        (Binding(aor: aor, provider: .apns, token: token, dialect: .rfc8599), PushContent(event: .call, fromURI: from))
    }

    @Test func `let a device have a burst and then one every five seconds`() {
        var limits = limits(device: 5)
        #expect(count(&limits, { _ in call() }, to: 1000) == 5)
        let (binding, content) = call()
        #expect((1...5000).contains(limits.pause(limits.names(binding, content), now: 1000)))
        #expect((11...13).contains(count(&limits, { call(from: "sip:\($0)@h") }, from: 1000, to: 61_000)))
        // Another device is free.
        #expect(count(&limits, { _ in call("other") }, from: 61_000, to: 62_000) == 5)
        // After a rest it may have a burst again.
        #expect(count(&limits, { _ in call() }, from: 200_000, to: 201_000) == 5)
    }

    @Test func `let a caller have a burst at one user, and at each`() {
        var limits = limits(caller: 10)
        #expect(count(&limits, { call("t\($0)") }, to: 5100) == 11)
        #expect(count(&limits, { call("t\($0)", from: "sip:eve@h") }, from: 5100, to: 6100) == 10)
        #expect(count(&limits, { call("t\($0)", aor: "carol") }, from: 6100, to: 7100) == 10)
    }

    @Test func `let the devices of a user have a burst together`() {
        var limits = limits(user: 30)
        #expect((30...36).contains(count(&limits, { call("t\($0)", from: "sip:\($0)@h") }, to: 6000)))
    }

    @Test func `are none where they are 0`() {
        var limits = limits()
        #expect(count(&limits, { _ in call() }, to: 10_000) == 100)
    }

    @Test(arguments: [Int64.min, -1, 0, .max]) func `hold at any time and for any number of names`(now: Int64) {
        var limits = limits(device: 1, caller: 1, user: 1, capacity: 3)
        for number in 0..<100 {
            let (binding, content) = call("t\(number)", aor: "u\(number)")
            let names = limits.names(binding, content)
            #expect(limits.pause(names, now: now) == 0)
            limits.note(names, now: now)
            #expect(limits.pause(names, now: now) == 5000)
        }
    }
}
