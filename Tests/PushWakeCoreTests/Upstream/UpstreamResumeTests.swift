// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// A host tells an engine that it hears again, or for the first time, of all that it holds.
@Suite struct `A held REGISTER that is told again` {
    private func phone(_ number: UInt64, expires: UInt32 = 600) -> PhoneRegister {
        var phone = PhoneRegister(
            handle: .init(host: 1, number: number), device: UpstreamDevice(fingerprint: number))
        phone.expires = expires
        return phone
    }

    private func accepted(_ actions: [UpstreamAction]) -> [UInt64] {
        actions.compactMap { if case .accept(let handle, _, _) = $0 { handle.number } else { nil } }
    }

    private func sent(_ actions: [UpstreamAction]) -> UInt32? {
        for case .send(let register) in actions { return register.attempt }
        return nil
    }

    @Test func `is under way once, or waits once`() throws {
        var policy = UpstreamPolicy()
        policy.keeping = .never
        var machine = UpstreamRegistration(policy, cseq: 0, seed: 1)
        let answer = UpstreamAnswer(status: 200, reason: "OK")
        let begun = machine.register(phone(1), now: 0, wallSeconds: 0)
        let first = try #require(sent(begun))
        // The last one that leaves waits for all others.
        let last = machine.register(phone(2, expires: 0), now: 0, wallSeconds: 0)
        #expect(last.isEmpty)
        for number in [1, 2, 2, 1] as [UInt64] {
            let again = machine.register(phone(number), now: 10, wallSeconds: 0)
            #expect(again.isEmpty)
        }
        let one = machine.answered(first, UpstreamAnswer(status: 403), now: 20, wallSeconds: 0)
        let second = try #require(sent(one))
        let two = machine.answered(second, answer, now: 30, wallSeconds: 0)
        #expect(accepted(two) == [2] && sent(two) == nil)
        let isBusy = machine.isBusy
        #expect(!isBusy)
    }

    @Test func `is asked about anew when its answer was lost`() {
        var machine = UpstreamRegistration(UpstreamPolicy(), cseq: 0, seed: 1)
        let begun = machine.register(phone(1), now: 0, wallSeconds: 0)
        _ = machine.answered(sent(begun) ?? 0, UpstreamAnswer(status: 200, reason: "OK"), now: 20, wallSeconds: 0)
        let again = machine.register(phone(1), now: 30, wallSeconds: 0)
        #expect(sent(again) != nil)
    }
}
