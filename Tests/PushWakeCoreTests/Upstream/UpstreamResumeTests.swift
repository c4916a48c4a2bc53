// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// A host tells an engine that it hears again, or for the first time, of all that it holds.
@Suite struct `A held REGISTER that is told again` {
    private func phone(_ number: UInt64) -> PhoneRegister {
        var phone = PhoneRegister(handle: .init(host: 1, number: number), device: number)
        phone.expires = 600
        return phone
    }

    private func accepted(_ actions: [UpstreamAction]) -> [UInt64] {
        actions.compactMap { if case .accept(let handle, _, _) = $0 { handle.number } else { nil } }
    }

    private func isSent(_ actions: [UpstreamAction]) -> Bool {
        actions.contains { if case .send = $0 { true } else { false } }
    }

    @Test func `is under way once, or waits once`() {
        var machine = UpstreamRegistration(UpstreamPolicy(), cseq: 0, seed: 1)
        let answer = UpstreamAnswer(status: 200, reason: "OK")
        let first = machine.register(phone(1), now: 0, wallSeconds: 0)
        #expect(isSent(first))
        for number in [1, 2, 2, 1] as [UInt64] {
            let again = machine.register(phone(number), now: 10, wallSeconds: 0)
            #expect(again.isEmpty)
        }
        let one = machine.answered(1, answer, now: 20, wallSeconds: 0)
        #expect(accepted(one) == [1] && isSent(one))
        let two = machine.answered(2, answer, now: 30, wallSeconds: 0)
        #expect(accepted(two) == [2] && !isSent(two))
        #expect(machine.phoneOnItsWay == nil)
    }

    @Test func `is asked about anew when its answer was lost`() {
        var machine = UpstreamRegistration(UpstreamPolicy(), cseq: 0, seed: 1)
        _ = machine.register(phone(1), now: 0, wallSeconds: 0)
        _ = machine.answered(1, UpstreamAnswer(status: 200, reason: "OK"), now: 20, wallSeconds: 0)
        let again = machine.register(phone(1), now: 30, wallSeconds: 0)
        #expect(isSent(again))
    }
}
