// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeSystem
import PushWakeTransport
import Testing

@testable import PushWakeSimulator

@Suite struct `An APNs provider token that is called expired` {
    private func fixture(_ script: String) throws -> DeliveryFixture {
        let fixture = try DeliveryFixture(script: script)
        let made = try JSONParser.parse(try FileContent.read(fixture.directory + "/files/simulator.json"))
        try fixture.set(.apnsKey, made["apns_key"]?.string)
        try fixture.set(.apnsKeyID, made["apns_key_id"]?.string)
        try fixture.set(.apnsTeamID, made["apns_team_id"]?.string)
        try fixture.set(.apnsURL, fixture.origin)
        return fixture
    }

    private func pushes(_ count: Int) -> [(Binding, PushContent)] {
        (0..<count).map { number in
            let token = String(repeating: "00fc", count: 14) + String(10_000_000 + number)
            return (
                Binding(
                    provider: .apns, app: "com.example.phone", service: .voip, token: token, dialect: .rfc8599),
                PushContent(event: .call, callID: "\(number)@host", fromURI: "sip:a@example.com", timeToLive: 30)
            )
        }
    }

    @Test func `is replaced in the pushes that wait, too`() throws {
        let fixture = try fixture(
            #"{"streams":{"max_concurrent":10},"apns":{"token_age_s":2},"rules":[{"count":320,"delay_ms":100}]}"#)
        let ends = try fixture.push(pushes(450), seconds: 20)
        #expect(ends.allSatisfy { $0.verdict.outcome == .accepted })
        // Those that were on their way; not those that had been built with the old token and waited.
        let refused = ends.count { $0.attempts > 1 }
        #expect((1...20).contains(refused))
    }

    @Test func `may be called so again and again`() throws {
        // Ten pushes, each once: one that is refused again ends. Few at a time: what a busy machine leaves unanswered for
        // two seconds goes out on another connection, and then the refusal on the first is nobody's.
        let rules = stride(from: 99, to: 1000, by: 100).map { number in
            #"{"token":"*\#(10_000_000 + number)","count":1,"reason":"ExpiredProviderToken"}"#
        }
        let script = #"{"streams":{"max_concurrent":50},"rules":[\#(rules.joined(separator: ","))]}"#
        let fixture = try fixture(script)
        let ends = try fixture.push(pushes(1000), seconds: 20)
        #expect(ends.allSatisfy { $0.verdict.outcome == .accepted })
        #expect(ends.count { $0.attempts > 1 } >= 10)
    }

    @Test func `ends a push that is refused twice`() throws {
        let fixture = try fixture(#"{"rules":[{"reason":"ExpiredProviderToken"}]}"#)
        let end = try fixture.push(pushes(1))[0]
        #expect(end.verdict.outcome == .misconfigured)
        #expect(end.verdict.reason == "ExpiredProviderToken")
        #expect(try fixture.requests().count == 2)
    }
}
