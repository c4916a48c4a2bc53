// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `A diagnosis of a user` {
    private func phone(
        _ assessment: WakeRecord.Assessment, way: DiagnosisFacts.Way = .ready(connections: 1), expiresIn: Int64 = 100,
        registeredAgo: Int64 = 300, lastFailure: String = "", provider: Provider = .apns
    ) -> DiagnosisFacts.Phone {
        DiagnosisFacts.Phone(
            provider: provider, app: "com.a", token: "abc…def", registeredAgo: registeredAgo, expiresIn: expiresIn,
            way: way, assessment: assessment, lastFailure: lastFailure, lastPushAgo: 42)
    }

    private func diagnosis(_ phones: DiagnosisFacts.Phone...) -> UserDiagnosis {
        var facts = DiagnosisFacts(aor: "bob")
        facts.phones = phones
        return UserDiagnosis(facts)
    }

    @Test func `goes along the way of the call`() {
        let found = diagnosis(phone(.wakes(1200)))
        #expect(found.findings.map(\.step) == [.register, .key, .provider, .push, .wake, .call])
        #expect(found.isFine && found.findings.allSatisfy { $0.state == ($0.step == .call ? .open : .fine) })
        #expect(found.advice == "nothing: a call to bob rings")
    }

    @Test func `asks to try what nobody has tried`() {
        #expect(diagnosis(phone(.neverPushed)).advice.hasPrefix("try it: pushwake try bob"))
        #expect(diagnosis(phone(.unproven(2))).isFine)
    }

    @Test func `says what became of a push by hand`() {
        let came = diagnosis(phone(.pushedForNone, registeredAgo: 42))
        #expect(came.findings.contains { $0.text == "phone 1 has registered since" })
        #expect(came.advice == "nothing: a call to bob rings")
        let stayed = diagnosis(phone(.pushedForNone))
        #expect(stayed.findings.contains { $0.text == "phone 1 has not registered since" })
        #expect(stayed.isFine && stayed.advice.contains("notifications"))
        #expect(!stayed.findings.contains { $0.text.contains("not pushed") })
    }

    @Test(arguments: [
        (DiagnosisFacts.Way.missing("set apns_key"), UserDiagnosis.Step.key, "set apns_key"),
        (.unreachable("Connection refused"), .provider, "firewall"),
        (.circuitOpen(Verdict(.unavailable, reason: "Connection refused")), .provider, "firewall"),
        (.circuitOpen(Verdict(.misconfigured, reason: "InvalidProviderToken")), .provider, "apns_key_id"),
        (.circuitOpen(Verdict(.misconfigured, reason: "PERMISSION_DENIED: …")), .provider, "Google Cloud console"),
        (.circuitOpen(Verdict(.misconfigured, reason: "THIRD_PARTY_AUTH_ERROR")), .provider, "Firebase console"),
    ])
    func `stops where the way to the provider does`(
        way: DiagnosisFacts.Way, step: UserDiagnosis.Step, word: String
    ) {
        let found = diagnosis(phone(.neverPushed, way: way, provider: word.hasSuffix("console") ? .fcm : .apns))
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

    private func diagnosis(
        ahead: Int64, _ assessment: WakeRecord.Assessment = .wakes(900), refusal: String? = nil,
        way: DiagnosisFacts.Way = .ready(connections: 1)
    ) -> UserDiagnosis {
        var facts = DiagnosisFacts(aor: "bob")
        facts.phones = [phone(assessment, way: way, lastFailure: refusal ?? "")]
        facts.clock = ClockReading(host: "fcm.googleapis.com", ahead: ahead)
        return UserDiagnosis(facts)
    }

    @Test func `says that the clock is right, or by how much it is not`() {
        let right = diagnosis(ahead: 3)
        #expect(right.findings.first?.text == "this machine's clock is that of fcm.googleapis.com" && right.isFine)
        let off = diagnosis(ahead: 45)
        #expect(off.findings.first?.state == .doubtful && off.isFine && off.advice.contains("NTP"))
        #expect(off.findings.first?.text == "this machine's clock is 45 s ahead of fcm.googleapis.com's")
        let wrong = diagnosis(ahead: -3660)
        #expect(wrong.findings.first?.text == "this machine's clock is 61 min behind fcm.googleapis.com's")
        #expect(!wrong.isFine && wrong.advice.contains("NTP"))
        #expect(!diagnosis(ahead: .min).isFine)
    }

    @Test(arguments: [
        ("ExpiredProviderToken", 0, true), ("InvalidProviderToken", 120, true), ("InvalidProviderToken", 0, false),
        ("OAuth invalid_grant, this machine's clock (iat)", 0, true), ("OAuth invalid_grant", 0, false),
        ("TopicDisallowed", 0, false),
    ])
    func `knows which refusals come from a wrong clock`(reason: String, ahead: Int64, isClock: Bool) {
        let found = diagnosis(ahead: ahead, .failing(2, .misconfigured), refusal: reason)
        #expect(found.advice.contains("NTP") == isClock)
        #expect(found.findings.contains { $0.text.contains("(\(reason))") })
        let refused = diagnosis(ahead: ahead, .neverPushed, way: .refused(reason))
        #expect(!refused.isFine && refused.advice.contains("NTP") == isClock)
    }

    @Test(arguments: [
        (DiagnosisFacts.Removed(provider: .apns, app: "a", reason: "token-gone BadDeviceToken"), "apns_environment"),
        (.init(provider: .apns, app: "a", reason: "token-gone DeviceTokenNotForTopic"), "apns_topic"),
        (.init(provider: .fcm, app: "a", reason: "token-gone SENDER_ID_MISMATCH"), "fcm_key"),
        (.init(provider: .fcm, app: "a", reason: "token-gone UNREGISTERED"), "open the app"),
        (.init(provider: .fcm, app: "a", reason: "by hand"), "open the app"),
    ])
    func `says of a binding that is gone what to do by its reason`(removed: DiagnosisFacts.Removed, word: String) {
        var facts = DiagnosisFacts(aor: "bob")
        facts.removed = [removed]
        #expect(UserDiagnosis(facts).advice.contains(word))
    }

    @Test func `calls nothing fine that nobody has tried`() {
        let found = diagnosis(phone(.neverPushed, way: .ready(connections: 0)))
        let open = found.findings.filter { $0.state == .open }.map(\.step)
        #expect(open == [.provider, .push, .call] && found.isFine)
        let away = diagnosis(phone(.neverPushed, way: .unreachable("Connection refused")))
        #expect(!away.findings.contains { $0.step == .push && $0.state == .fine })
    }

    @Test func `takes a certificate that is not good today for a question of the clock`() {
        let early = phone(.neverPushed, way: .unreachable("certificate of fcm.googleapis.com: not yet valid"))
        #expect(diagnosis(early).advice.contains("timedatectl"))
    }

    @Test func `reads any form of Date`() {
        let now: Int64 = 784_111_777
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            #expect(ClockReading(date: text, host: "a", now: now + 90)?.ahead == 90)
        }
        for text in ["", "soon", "Sun, 06 Nov 1994 08:49:37"] {
            #expect(ClockReading(date: text, host: "a", now: now) == nil)
        }
    }

    @Test func `takes the first that fails before what is in doubt`() {
        let found = diagnosis(phone(.wakesSometimes(900, woke: 1, accepted: 2)), phone(.neverWoke(9)))
        #expect(found.findings.contains { $0.state == .doubtful })
        #expect(found.advice == found.findings.first { $0.state == .failing }?.remedy)
        #expect(diagnosis(phone(.failing(1, .throttled))).isFine)
    }

    @Test func `tells why there is no binding`() {
        var facts = DiagnosisFacts(aor: "bob")
        #expect(UserDiagnosis(facts).advice.contains("pushwake_save()"))
        facts.registers = 1
        #expect(UserDiagnosis(facts).advice.contains("pushwake parse"))
        #expect(!UserDiagnosis(facts).findings.contains { $0.step == .call })
        facts.removed = [.init(provider: .fcm, app: "a", reason: "token-gone UNREGISTERED")]
        #expect(UserDiagnosis(facts).advice.contains("open the app"))
        #expect(UserDiagnosis(facts).findings.first?.text.contains("UNREGISTERED") == true)
        facts.refusal = "pn-provider: pushes through fcm are not set up here; set fcm_key"
        #expect(UserDiagnosis(facts).advice.contains("set fcm_key"))
        facts.others = ["bob@example.com"]
        #expect(
            UserDiagnosis(facts).advice == "ask for the user as the registrar has it: pushwake doctor bob@example.com")
        facts.storeProblem = "disk full"
        #expect(UserDiagnosis(facts).findings.map(\.step) == [.store])
        #expect(UserDiagnosis(facts).advice.contains("pushwake check"))
        facts.isStoreShared = true
        #expect(UserDiagnosis(facts).advice.contains("repair the server of store, or the way to it"))
    }

    @Test func `says that nothing can be stored: to who has no phone first, to others as well`() {
        var facts = DiagnosisFacts(aor: "bob")
        facts.writeProblem = "disk full"
        #expect(UserDiagnosis(facts).advice.contains("pushwake check"))
        facts.phones = [phone(.neverPushed)]
        #expect(UserDiagnosis(facts).isFine)
        #expect(UserDiagnosis(facts).findings.first?.text.contains("disk full") == true)
    }

    @Test func `is not fine while the file of the store is gone`() {
        var facts = DiagnosisFacts(aor: "bob")
        facts.phones = [phone(.neverPushed)]
        facts.isFileGone = true
        #expect(!UserDiagnosis(facts).isFine && UserDiagnosis(facts).advice.contains("start the engine anew"))
    }

    @Test func `cleans what comes from packets, and writes times as people do`() {
        var facts = DiagnosisFacts(aor: "bob")
        var trace = CallTrace(method: "IN\u{1B}[31m\nVITE", aor: "bob", callID: "a", cseq: 1, from: "", now: 0)
        trace.append(.rung(device: 0, leg: 1, contact: "sip:a@b"), now: 0)
        trace.append(.ended(.timedOut), now: 9)
        facts.lastRequest = .init(trace: trace, ago: 42)
        let found = UserDiagnosis(facts).findings.last
        #expect(found?.state == .failing)
        #expect(found?.text == "IN?[31m?VITE, 42 s ago, timed out: phone 1 was rung and did not answer")
        #expect([-1, 119, 120, 7200, 172_800].map(UserDiagnosis.time) == ["0 s", "119 s", "2 min", "2 h", "2 days"])
    }
}
