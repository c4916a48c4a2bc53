// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeClient

@Suite struct `A request's deadline` {
    private func deadline(_ fields: MessageFields) throws -> RequestDeadline {
        RequestDeadline(decoding: try .of(.wake, fields))
    }

    @Test(arguments: [(1000, false), (1100, false), (1101, true), (999, false), (Int64.max, true), (Int64.min, false)])
    func `is past when the sender's timeout is over`(now: Int64, isPast: Bool) throws {
        #expect(try deadline([.sentAt: 1000, .senderTimeout: 100]).isPast(at: now) == isPast)
    }

    @Test func `is never past for one who does not say when or for how long`() throws {
        #expect(try !deadline([:]).isPast(at: .max))
        #expect(try !deadline([.sentAt: 0]).isPast(at: .max))
        #expect(try !deadline([.senderTimeout: 0]).isPast(at: .max))
    }

    @Test func `survives any numbers`() throws {
        let extremes: [Int64] = [.min, -1, 0, 1, .max]
        for sentAt in extremes {
            for timeout in extremes {
                let deadline = try deadline([.sentAt: sentAt, .senderTimeout: timeout])
                for now in extremes { _ = deadline.isPast(at: now) }
            }
        }
        #expect(try !deadline([.sentAt: "soon"]).isPast(at: 0))
    }
}
