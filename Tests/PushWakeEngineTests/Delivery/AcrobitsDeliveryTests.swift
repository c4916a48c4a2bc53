// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeSimulator

@Suite struct `Acrobits` {
    private func binding(_ token: String) -> Binding {
        var binding = Binding(provider: .acrobits, app: "com.example.softphone", token: token, dialect: .acrobitsTuple)
        binding.attributes["pn-selector"] = "7A6F"
        return binding
    }

    @Test func `gets the same Id for all events of a call`() throws {
        let fixture = try DeliveryFixture(.acrobits)
        for event in [PushEvent.call, .missed, .answeredElsewhere] {
            let end = try fixture.push(
                binding("phone"), PushContent(event: event, callID: "call-7@host", fromURI: "sip:bob@example.com"))
            #expect(end.verdict.outcome == .accepted)
        }
        let bodies = try fixture.requests().map { $0["body"] }
        #expect(bodies.map { $0?["Id"]?.string } == ["call-7@host", "call-7@host", "call-7@host"])
        #expect(
            bodies.map { $0?["verb"]?.string }
                == ["NotifyIncomingCall", "NotifyIncomingCallMissed", "NotifyIncomingCallAnsweredElsewhere"])
        #expect(bodies[0]?["Selector"]?.string == "7A6F")
    }

    @Test(arguments: [("unregistered", Outcome.tokenGone), ("mismatch", .misconfigured)])
    func `says in the body what it thinks`(token: String, outcome: Outcome) throws {
        let fixture = try DeliveryFixture(.acrobits)
        let end = try fixture.push(binding(token), PushContent(event: .call, callID: "c", fromURI: "sip:b@example.com"))
        #expect(end.verdict.outcome == outcome)
        #expect(end.status == 200)
    }

    @Test func `is off until a setting says so`() throws {
        let fixture = try DeliveryFixture()
        let end = try fixture.push(binding("phone"), PushContent(event: .call, callID: "c"))
        #expect(end.verdict.outcome == .misconfigured)
        #expect(end.verdict.reason == "NoCredential")
        #expect(end.verdict.detail == "set acrobits to 1")
    }
}
