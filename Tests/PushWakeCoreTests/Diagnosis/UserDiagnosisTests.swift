// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `A diagnosis of a user` {
    private func phone(
        _ assessment: WakeRecord.Assessment, way: DiagnosisFacts.Way = .ready(connections: 1), expiresIn: Int64 = 100
    ) -> DiagnosisFacts.Phone {
        DiagnosisFacts.Phone(
            provider: .apns, app: "com.a", token: "abc…def", registeredAgo: 300, expiresIn: expiresIn, way: way,
            assessment: assessment, lastPushAgo: 42)
    }

    private func diagnosis(_ phones: DiagnosisFacts.Phone...) -> UserDiagnosis {
        var facts = DiagnosisFacts(aor: "bob")
        facts.phones = phones
        return UserDiagnosis(facts)
    }

    @Test func `goes along the way of the call`() {
        let found = diagnosis(phone(.wakes(1200)))
        #expect(found.findings.map(\.step) == [.register, .key, .provider, .push, .wake, .call])
        #expect(found.isFine && found.findings.allSatisfy { $0.state == .fine })
        #expect(found.advice == "nothing: a call to bob rings")
    }

    @Test func `asks to try what nobody has tried`() {
        #expect(diagnosis(phone(.neverPushed)).advice.hasPrefix("try it: pushwake send call bob"))
        #expect(diagnosis(phone(.unproven(2))).isFine)
    }

    @Test(arguments: [
        (DiagnosisFacts.Way.missing("set apns_key"), UserDiagnosis.Step.key, "set apns_key"),
        (.unreachable("connection refused"), .provider, "firewall"), (.circuitOpen(""), .provider, "log"),
    ])
    func `stops where the way to the provider does`(
        way: DiagnosisFacts.Way, step: UserDiagnosis.Step, word: String
    ) {
        let found = diagnosis(phone(.neverPushed, way: way))
        #expect(found.findings.first { $0.state == .failing }?.step == step)
        #expect(!found.isFine && found.advice.contains(word))
    }

    @Test(arguments: [
        (WakeRecord.Assessment.failing(3, .tokenGone), UserDiagnosis.Step.push, "open the app"),
        (.failing(1, .misconfigured), .push, "key"), (.failing(1, .unavailable), .push, "firewall"),
        (.neverWoke(12), .wake, "notifications"), (.stoppedWaking(4), .wake, "notifications"),
    ])
    func `says what to do about pushes that do not wake`(
        assessment: WakeRecord.Assessment, step: UserDiagnosis.Step, word: String
    ) {
        let found = diagnosis(phone(assessment))
        #expect(found.findings.first { $0.state == .failing }?.step == step)
        #expect(found.advice.contains(word))
    }

    @Test func `takes the first that fails before what is in doubt`() {
        let found = diagnosis(phone(.wakesSometimes(900, woke: 1, accepted: 2)), phone(.neverWoke(9)))
        #expect(found.findings.contains { $0.state == .doubtful })
        #expect(found.advice == found.findings.first { $0.state == .failing }?.remedy)
        #expect(diagnosis(phone(.failing(1, .throttled))).isFine)
    }

    @Test func `tells why there is no binding`() {
        var facts = DiagnosisFacts(aor: "bob")
        #expect(UserDiagnosis(facts).advice.contains("pushwake parse"))
        facts.removed = [.init(provider: .fcm, app: "a", reason: "token-gone UNREGISTERED")]
        #expect(UserDiagnosis(facts).advice.contains("open the app"))
        #expect(UserDiagnosis(facts).findings.first?.text.contains("UNREGISTERED") == true)
        facts.others = ["bob@example.com"]
        #expect(
            UserDiagnosis(facts).advice == "ask for the user as the registrar has it: pushwake doctor bob@example.com")
        facts.storeProblem = "disk full"
        #expect(UserDiagnosis(facts).findings.map(\.step) == [.store])
    }

    @Test func `cleans what comes from packets, and writes times as people do`() {
        var facts = DiagnosisFacts(aor: "bob")
        facts.lastRequest = .init(method: "INVITE", ago: 42, end: "timed out", summary: "x\u{1B}[31m\ny")
        let found = UserDiagnosis(facts).findings.last
        #expect(found?.state == .doubtful && found?.text == "INVITE, 42 s ago, timed out: x?[31m?y")
        #expect([-1, 119, 120, 7200, 172_800].map(UserDiagnosis.time) == ["0 s", "119 s", "2 min", "2 h", "2 days"])
    }
}
