// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeClient

@Suite struct `A request's deadline` {
    private func deadline(_ fill: (inout MessageWriter) -> Void) throws -> RequestDeadline {
        var writer = MessageWriter()
        writer.begin(.wake, id: 1)
        writer.put(.aor, "bob")
        fill(&writer)
        return RequestDeadline(decoding: try #require(MessageReader(writer.bytes)))
    }

    @Test(arguments: [(1000, false), (1100, false), (1101, true), (999, false), (Int64.max, true), (Int64.min, false)])
    func `is past when the sender's timeout is over`(now: Int64, isPast: Bool) throws {
        let deadline = try deadline { writer in
            writer.put(.sentAt, Int64(1000))
            writer.put(.senderTimeout, Int64(100))
        }
        #expect(deadline.isPast(at: now) == isPast)
    }

    @Test func `is never past for one who does not say when or for how long`() throws {
        #expect(try !deadline { _ in }.isPast(at: .max))
        #expect(try !deadline { $0.put(.sentAt, Int64(0)) }.isPast(at: .max))
        #expect(try !deadline { $0.put(.senderTimeout, Int64(0)) }.isPast(at: .max))
    }

    @Test func `survives any numbers`() throws {
        let extremes: [Int64] = [.min, -1, 0, 1, .max]
        for sentAt in extremes {
            for timeout in extremes {
                let deadline = try deadline { writer in
                    writer.put(.sentAt, sentAt)
                    writer.put(.senderTimeout, timeout)
                }
                for now in extremes { _ = deadline.isPast(at: now) }
            }
        }
        #expect(try !deadline { $0.put(.sentAt, "soon") }.isPast(at: 0))
    }
}
