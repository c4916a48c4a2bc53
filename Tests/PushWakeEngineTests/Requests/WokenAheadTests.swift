// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

extension CoreBench {
    /// A dialplan wakes bob's phones, or with a waiting leg dials them.
    @discardableResult
    fileprivate func wake(
        _ handle: Int64, callID: String = "call@1", isLeg: Bool, contact: String = ""
    ) throws -> LegAnswer {
        LegAnswer(
            try ask(.wake) { writer in
                writer.put([
                    .host: 7, .handle: handle, .event: 0, .aor: "bob", .method: "INVITE", .callID: callID,
                    .cseq: isLeg ? handle : 0, .hostKind: Int64(CallHost.dialplan.rawValue),
                ])
                if isLeg { writer.put(.waitingLeg, 1) }
                guard !contact.isEmpty else { return }
                writer.put([
                    .contactURI: contact, .contactKey: contact,
                    .contactReachable: Int64(CallContact.Reach.datagram.rawValue),
                ])
            })
    }

    fileprivate func end(_ handle: Int64) throws {
        core.requests.requestEnded(try .of(.requestEnded, [.host: 7, .handle: handle, .how: 0, .status: 487]))
    }

    fileprivate var pushed: Int { core.context.statistics.pushed }
    fileprivate var live: [HeldRequest] { core.requests.calls.requests(for: "bob").filter { !$0.hasEnded } }
}

@Suite struct `Phones that a dialplan has woken before it dials them` {
    private static let contact = "<sip:bob@10.0.0.1:5060;pn-provider=fcm;pn-param=project;pn-prid=abc:def>"

    private func bench() throws -> CoreBench {
        let bench = try CoreBench()
        try bench.register(Self.contact)
        #expect(try bench.wake(1, isLeg: false).hold > 0)
        #expect(bench.pushed == 1)
        return bench
    }

    @Test func `are not pushed again for the leg of the same call, which takes its place`() throws {
        let bench = try bench()
        #expect(try bench.wake(2, isLeg: true).hold > 0)
        #expect(bench.pushed == 1)
        #expect(bench.live.map(\.message.isWaitingLeg) == [true])
        #expect(bench.core.context.statistics.calls == 1)
        // What becomes of the push is nothing to the first request, which would tell the phone of its end.
        let followers = try #require(bench.live.first?.pushes.known("abc:def")?.followers)
        #expect(followers.map(\.request.message.isWaitingLeg) == [true])
        // Another leg of the same Dial() has a CSeq of its own.
        try bench.wake(3, isLeg: true)
        #expect(bench.pushed == 1)
        #expect(bench.live.count == 2)
    }

    @Test func `are pushed for a leg of another call`() throws {
        let bench = try bench()
        try bench.wake(2, callID: "call@2", isLeg: true)
        #expect(bench.pushed == 2)
        #expect(bench.live.count == 2)
    }

    @Test func `are pushed again once the legs of the first attempt are over`() throws {
        let bench = try bench()
        try bench.wake(2, isLeg: true)
        try bench.end(2)
        #expect(bench.live.isEmpty)
        try bench.wake(3, isLeg: true)
        #expect(bench.pushed == 2)
    }
}
