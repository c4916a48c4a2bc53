// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Budgets of addresses` {
    private func address(_ number: Int) -> String { "198.\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)" }

    @Test(arguments: [4500, 20_000])
    func `are not used up by others, however many there are`(strangers: Int) {
        var attempts = PasswordAttempts()
        for number in 0..<strangers {
            for _ in 0..<11 { attempts.wasWrong("root", at: address(number), now: 0) }
        }
        let locked = (0..<500).count { !attempts.mayTry("root", at: "203.0.\($0 >> 8).\($0 & 255)", now: 1) }
        #expect(locked == 0)
    }

    @Test func `are kept while as many ask too much as are told apart`() {
        var attempts = PasswordAttempts()
        for number in 0..<4500 {
            for _ in 0..<10 { attempts.wasWrong("root", at: address(number), now: 0) }
        }
        let free = (0..<4500).count { attempts.mayTry("root", at: address($0), now: 1) }
        #expect(free < 45)
    }

    @Test func `are those of a user who has shown the right password there`() {
        var attempts = PasswordAttempts()
        attempts.wasRight("alice", at: "192.0.2.1", now: 0)
        attempts.wasRight("carol", at: "2001:db8::1", now: 0)
        for _ in 0..<10 { attempts.wasWrong("bob", at: "192.0.2.1", now: 0) }
        #expect(attempts.mayTry("alice", at: "192.0.2.1", now: 0))
        #expect(!attempts.mayTry("bob", at: "192.0.2.1", now: 0) && !attempts.mayTry("", at: "192.0.2.1", now: 0))
        #expect(!attempts.mayTry("\u{E9}", at: "192.0.2.1", now: 0))
        // Guesses at her own password are hers alone, and there are as few of them.
        for _ in 0..<10 { attempts.wasWrong("alice", at: "192.0.2.1", now: 0) }
        #expect(!attempts.mayTry("alice", at: "192.0.2.1", now: 0) && attempts.mayTry("alice", at: "192.0.2.2", now: 0))
        #expect(attempts.mayTry("alice", at: "192.0.2.1", now: 10_000))
        // One IPv6 network is one address.
        for _ in 0..<10 { attempts.wasWrong("bob", at: "2001:db8::2", now: 0) }
        #expect(
            attempts.mayTry("carol", at: "2001:db8::3", now: 0) && !attempts.mayTry("bob", at: "2001:db8::4", now: 0))
    }
}
