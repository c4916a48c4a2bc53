// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeSystem
import PushWakeTransport
import Testing

@testable import PushWakeSimulator

@Suite struct `APNs service with client certificates` {
    private static let phone = ["com.example.phone", "com.example.phone.voip"]

    private func answer(
        _ topics: [String] = phone, _ changes: [String: String?] = [:], rules: APNsRules = APNsRules(),
        change: (inout ClientCertificate) -> Void = { _ in }
    ) -> ProviderAnswer {
        var service = ServiceFixture.makeAPNs()
        service.rules = rules
        var certificate = ClientCertificate(topics: topics)
        change(&certificate)
        var session = APNsSession()
        session.certificate = certificate
        let request = ServiceFixture.makePush(changes.merging(["authorization": nil]) { given, _ in given })
        return service.answer(request, session: &session, now: ServiceFixture.now)
    }

    @Test func `takes a push without a provider token, and does not look at one`() {
        #expect(answer().status == 200)
        #expect(answer(Self.phone, ["authorization": "bearer nonsense"]).status == 200)
    }

    @Test func `wants one or the other`() {
        var service = ServiceFixture.makeAPNs()
        var session = APNsSession()
        let request = ServiceFixture.makePush(["authorization": nil])
        #expect(
            service.answer(request, session: &session, now: ServiceFixture.now).reason == "MissingProviderToken")
    }

    @Test func `refuses a topic that the certificate is not for`() {
        let answer = answer(["com.example.other", "com.example.other.voip"])
        #expect(answer.status == 400 && answer.reason == "TopicDisallowed")
        #expect(self.answer(Self.phone, ["apns-topic": ".."]).reason == "BadTopic")
    }

    @Test func `fills in the topic of a certificate with one, and asks for it with several`() {
        #expect(answer(["com.example.phone.voip"], ["apns-topic": nil]).status == 200)
        let several = answer(Self.phone, ["apns-topic": nil])
        #expect(several.status == 400 && several.reason == "MissingTopic")
    }

    @Test func `refuses a certificate of somebody else, before its time, after it, or for nothing`() {
        let bad: [(inout ClientCertificate) -> Void] = [
            { $0.isTrusted = false }, { $0.validity = (ServiceFixture.seconds + 1)...Int64.max },
            { $0.validity = 0...(ServiceFixture.seconds - 1) }, { $0.topics = [] },
        ]
        for change in bad {
            let answer = answer(change: change)
            #expect(answer.status == 403 && answer.reason == "BadCertificate")
        }
        var rules = APNsRules()
        rules.takesAnyCertificate = true
        #expect(answer(rules: rules) { $0.isTrusted = false }.status == 200)
    }

    @Test func `refuses a certificate of the other environment`() {
        var rules = APNsRules()
        rules.environment = .production
        let answer = answer(rules: rules) { $0.isForProduction = false }
        #expect(answer.status == 403 && answer.reason == "BadCertificateEnvironment")
        #expect(self.answer(rules: rules) { $0.isForSandbox = false }.status == 200)
        #expect(self.answer { ($0.isForProduction, $0.isForSandbox) = (false, false) }.status == 403)
    }

    @Test func `reads what it wrote, and nothing else`() {
        let many = (0..<30).map { ("com.example.app\($0)", "app") }
        #expect(TopicExtension.topics(TopicExtension.bytes(many)) == many.map(\.0))
        let bytes = TopicExtension.bytes([("com.example.phone", "app")])
        for count in bytes.indices { #expect(TopicExtension.topics(Array(bytes.prefix(count))) == []) }
        #expect(TopicExtension.topics(bytes + [0]) == [])
    }

    @Test func `a script names environment and authority`() throws {
        let script = try FaultScript(
            json: Array(#"{"apns": {"environment": "sandbox", "any_certificate": true}}"#.utf8))
        #expect(script.apns.environment == .sandbox && script.apns.takesAnyCertificate)
        let mistake = #"line 1: apns.environment must be one of production, sandbox; "mars" is none"#
        #expect(throws: FaultScript.Mistake(mistake)) {
            try FaultScript(json: Array(#"{"apns": {"environment": "mars"}}"#.utf8))
        }
    }
}

@Suite(.serialized) struct `The simulator's certificates` {
    private func push(
        _ simulator: RunningSimulator, _ topic: String, _ flags: String, protocol version: String = "--http2"
    ) -> RunningSimulator.Answer {
        simulator.send(
            "/3/device/00fc", headers: ["apns-topic: \(topic)"], body: #"{"aps":{}}"#, flags: "\(version) \(flags)")
    }

    @Test func `work with a client that is not ours, over both protocols and both versions of TLS`() throws {
        let simulator = try RunningSimulator()
        defer {
            simulator.end()
            simulator.remove()
        }
        let directory = try #require(simulator.settings["apns_cert"]?.string)
        let p12 = "--cert-type P12 --cert \(directory)/pushkit.com.example.phone.p12:pushwake"
        let pem = "--cert \(directory)/com.example.tablet.pem"
        for version in ["--http2", "--http1.1", "--http2 --tls-max 1.2"] {
            #expect(push(simulator, "com.example.phone", p12, protocol: version).status == 200)
            #expect(push(simulator, "com.example.tablet.voip", pem, protocol: version).status == 200)
        }
        let der = "--cert-type DER --cert \(directory)/com.example.desk.cer --key \(directory)/com.example.desk.key"
        #expect(push(simulator, "com.example.desk", der).status == 200)
        #expect(push(simulator, "com.example.phone", pem).body.contains("TopicDisallowed"))
        #expect(push(simulator, "com.example.phone", "").body.contains("MissingProviderToken"))
        #expect(simulator.play(#"{"apns": {"environment": "production"}}"#) == 204)
        #expect(push(simulator, "com.example.desk", der).body.contains("BadCertificateEnvironment"))
        #expect(try simulator.push().status == 200, "a provider token is as good as ever")
        let logged = try simulator.log().first?["certificate"]?.string
        #expect(logged == "com.example.phone")
    }

    @Test func `stay the same at the next start, and those of others are refused`() throws {
        let first = try RunningSimulator()
        first.end()
        let path = "\(first.directory)/files/apns/com.example.tablet.pem"
        let before = try FileContent.read(path)
        let second = try RunningSimulator(in: first.directory)
        defer {
            second.end()
            second.remove()
        }
        #expect(try FileContent.read(path) == before)
        let stranger = try PushCertificates.issue(
            "Apple Push Services: com.example.phone", "com.example.phone", try CertificateAuthority(name: "Other"))
        let files = try FileStore(making: first.directory)
        try files.write("other.pem", stranger.certificatePEM + stranger.keyPEM, mode: 0o600)
        let flags = "--cert \(first.directory)/other.pem"
        #expect(push(second, "com.example.phone", flags).body.contains("BadCertificate"))
        #expect(second.play(#"{"apns": {"any_certificate": true}}"#) == 204)
        #expect(push(second, "com.example.phone", flags).status == 200)
    }
}
