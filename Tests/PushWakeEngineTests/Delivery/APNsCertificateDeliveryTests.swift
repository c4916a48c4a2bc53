// SPDX-License-Identifier: MIT

import Glibc
import PushWakeClient
import PushWakeCore
import PushWakeSystem
import PushWakeTransport
import Testing

@testable import PushWakeEngine
@testable import PushWakeSimulator

@Suite(.serialized) struct `Pushes with certificates` {
    private func phone(_ app: String, _ service: TokenUse? = .voip, _ token: String = "00fc13") -> Binding {
        Binding(
            aor: "alice", provider: .apns, app: app, team: "DEF123GHIJ", service: service, token: token,
            dialect: .rfc8599)
    }

    /// The simulator's certificates in a directory of the test's own.
    private func fixture(script: String = "{}", key: Bool = false) throws -> DeliveryFixture {
        let fixture = try DeliveryFixture(script: script)
        _ = system("cp -r \(fixture.directory)/files/apns \(fixture.directory)/apns")
        try fixture.set(.apnsCert, to: "\(fixture.directory)/apns")
        try fixture.set(.apnsURL, to: fixture.origin)
        try fixture.set(.apnsSandboxURL, to: fixture.origin)
        if key {
            let name = try #require(try FileContent.names(in: "\(fixture.directory)/files", ending: ".p8").first)
            try fixture.set(.apnsKey, to: "\(fixture.directory)/files/\(name)")
            try fixture.set(.apnsTeamID, to: "DEF123GHIJ")
        }
        return fixture
    }

    private func authority(_ fixture: DeliveryFixture) throws -> CertificateAuthority {
        try CertificateAuthority(
            certificatePEM: FileContent.read("\(fixture.directory)/files/apns-ca.pem"),
            keyPEM: FileContent.read("\(fixture.directory)/files/apns-ca.key"))
    }

    /// A certificate with its key as PEM, signed by the simulator's authority.
    private func pem(_ app: String, _ fixture: DeliveryFixture, days: Int = 365) throws -> [UInt8] {
        let made = try PushCertificates.issue("Apple Push Services: \(app)", app, authority(fixture), days: days)
        return made.certificatePEM + made.keyPEM
    }

    /// The certificate that the last request came with, and whether it had a provider token.
    private func last(_ fixture: DeliveryFixture) throws -> (certificate: String?, hasToken: Bool) {
        let request = try #require(try fixture.requests().last)
        return (request["certificate"]?.string, request["headers"]?["authorization"] != nil)
    }

    @Test func `go out for several apps, each with its own certificate and no provider token`() throws {
        let fixture = try fixture()
        try fixture.set(.apnsEnvironment, to: "sandbox")
        let delivery = fixture.opened()
        for (app, topic) in [
            ("com.example.phone", "com.example.phone"), ("com.example.tablet", "com.example.tablet.voip"),
            ("com.example.desk", "com.example.desk"), ("com.example.phone.voip", "com.example.phone"),
        ] {
            #expect(try fixture.call(phone(app), delivery).outcome == .accepted)
            let (certificate, hasToken) = try last(fixture)
            #expect(certificate == topic)
            #expect(!hasToken)
        }
        #expect(fixture.counter("connections") == 4, "one for each app, and the one that asks")
    }

    @Test func `that no certificate covers are refused with the reason, or go out with the key`() throws {
        let bare = try fixture()
        let delivery = bare.opened()
        for app in ["com.example.other", "com.example.desk"] {
            let verdict = try bare.call(phone(app), delivery)
            #expect(verdict.outcome == .misconfigured)
            #expect(verdict.reason == "NoCertificateForTopic")
            #expect(!delivery.isHealthy(for: phone(app), .voip))
        }
        #expect(delivery.isHealthy(for: phone("com.example.tablet"), .voip))
        #expect(!delivery.isHealthy(for: phone("com.example.tablet", .remote), .alert))
        #expect(bare.counter("requests") == 0)

        let both = try fixture(key: true)
        let second = both.opened()
        #expect(try both.call(phone("com.example.other"), second).outcome == .accepted)
        #expect(try last(both).certificate == nil)
        #expect(try last(both).hasToken)
        #expect(try both.call(phone("com.example.phone"), second).outcome == .accepted)
        #expect(try last(both).certificate == "com.example.phone")
    }

    @Test func `follow files that come and go while the engine runs`() throws {
        let fixture = try fixture()
        let delivery = fixture.opened()
        #expect(try fixture.call(phone("com.example.late"), delivery).reason == "NoCertificateForTopic")
        #expect(try fixture.call(phone("com.example.tablet"), delivery).outcome == .accepted)
        let path = "\(fixture.directory)/apns/com.example.late.pem"
        try fixture.write(path, try pem("com.example.late", fixture))
        fixture.turn(seconds: 4) { delivery.isHealthy(for: phone("com.example.late"), .voip) }
        #expect(try fixture.call(phone("com.example.late"), delivery).outcome == .accepted)

        unlink(path)
        fixture.turn(seconds: 4) { !delivery.isHealthy(for: phone("com.example.late"), .voip) }
        #expect(try fixture.call(phone("com.example.late"), delivery).reason == "NoCertificateForTopic")
        // The connection of another app has lived through it all.
        let before = fixture.counter("connections")
        #expect(try fixture.call(phone("com.example.tablet"), delivery).outcome == .accepted)
        #expect(fixture.counter("connections") == before.map { $0 + 1 }, "only the one that asks")
    }

    @Test func `in flight live through a new certificate, and none is lost or doubled`() throws {
        let fixture = try fixture(script: #"{"rules": [{"provider": "apns", "delay_ms": 3000}]}"#)
        let path = "\(fixture.directory)/apns/pushkit.com.example.phone.p12"
        let delivery = fixture.opened()
        var ends: [Verdict] = []
        let content = PushContent(event: .call, callID: "c1", fromURI: "sip:bob@example.com")
        func push(_ number: Int) {
            fixture.loop.updateTime()
            delivery.push(
                Push(
                    phone("com.example.phone", .voip, "aa\(100 + number)"), content, type: .voip,
                    deadline: fixture.loop.now + 20_000)
            ) { _, verdict, _ in ends.append(verdict) }
        }
        // Pushes all the time while the file changes.
        for number in 0..<400 {
            push(number)
            fixture.turn(seconds: 0) { true }
            if number == 100 { try fixture.write(path, try renewed(fixture)) }
            let pause = SystemClock.monotonicMilliseconds() + 10
            while SystemClock.monotonicMilliseconds() < pause { fixture.loop.turn(waitingUpTo: 5) }
        }
        #expect(fixture.lines.contains { $0.contains("keys for apns have changed") })
        fixture.turn(seconds: 10) { ends.count == 400 }
        #expect(ends.count == 400)
        #expect(ends.allSatisfy { $0.outcome == .accepted })
        #expect(fixture.counter("distinct") == 400)
        #expect(fixture.counter("duplicates") == 0)
        let connections = Set(try fixture.requests().compactMap { $0["connection"]?.integer })
        #expect(connections.count == 2, "one with each certificate")
    }

    @Test(arguments: [503, 403])
    func `that pause for another attempt go out with the new certificate`(status: Int) throws {
        let reason = status == 503 ? "ServiceUnavailable" : "ExpiredProviderToken"
        // The answer to the first one is late enough for the file to change meanwhile.
        let fixture = try fixture(
            script: #"{"rules":[{"provider":"apns","count":1,"reason":"\#(reason)","delay_ms":600}]}"#)
        let path = "\(fixture.directory)/apns/pushkit.com.example.phone.p12"
        let delivery = fixture.opened()
        var end: Verdict?
        var last: PushJob?
        let content = PushContent(event: .call, callID: "c1", fromURI: "sip:bob@example.com")
        fixture.loop.updateTime()
        delivery.push(
            Push(
                phone("com.example.phone", .voip, "aa100"), content, type: .voip, deadline: fixture.loop.now + 20_000)
        ) { job, verdict, _ in (last, end) = (job, verdict) }
        fixture.turn(seconds: 5) { (try? fixture.requests().count) == 1 || delivery.queues.inFlight == 1 }
        try fixture.write(path, try renewed(fixture))
        #expect(delivery.reload() == [])
        // Over the new certificate's connection.
        #expect(try fixture.call(phone("com.example.phone"), delivery).outcome == .accepted)
        let new = try #require(try fixture.requests().last?["connection"]?.integer)
        #expect(end == nil, "too slow to see anything")
        fixture.turn(seconds: 10) { end != nil }
        #expect(end?.outcome == .accepted)
        #expect(last?.attempts == 2)
        let connections = try fixture.requests().filter { $0["path"]?.string == "/3/device/aa100" }
            .compactMap { $0["connection"]?.integer }
        #expect(connections.count == 2 && connections.first != new && connections.last == new)
        #expect(fixture.counter("distinct") == 2)
    }

    private func renewed(_ fixture: DeliveryFixture) throws -> [UInt8] {
        let made = try PushCertificates.issue(
            "Apple Push Services: com.example.phone", "com.example.phone", authority(fixture))
        return try made.identity.pkcs12(password: PushCertificates.password, name: "com.example.phone")
    }

    @Test func `keep the certificate before when its replacement is broken, with one complaint`() throws {
        let fixture = try fixture()
        let path = "\(fixture.directory)/apns/com.example.tablet.pem"
        let delivery = fixture.opened()
        try fixture.write(path, Array("-----BEGIN CERTIFICATE-----\nAAAA\n".utf8))
        fixture.turn(seconds: 4) { fixture.lines.contains { $0.contains(path) } }
        try fixture.write("\(fixture.directory)/apns/com.example.late.pem", try pem("com.example.late", fixture))
        fixture.turn(seconds: 4) { delivery.isHealthy(for: phone("com.example.late"), .voip) }
        let complaints = fixture.lines.filter { $0.contains(path) }
        #expect(complaints.count == 1)
        #expect(complaints.first?.contains("the certificate read before is still used") == true)
        #expect(try fixture.call(phone("com.example.tablet"), delivery).outcome == .accepted)
        #expect(try fixture.call(phone("com.example.late"), delivery).outcome == .accepted)
        // A reload says it again and loses nothing either.
        #expect(delivery.reload().count == 1)
        #expect(try fixture.call(phone("com.example.tablet"), delivery).outcome == .accepted)
    }

    @Test func `do not use a certificate that has expired, and say so`() throws {
        let fixture = try fixture(key: true)
        let path = "\(fixture.directory)/apns/com.example.old.pem"
        try fixture.write(path, try pem("com.example.old", fixture, days: -3))
        let delivery = fixture.delivery()
        let problems = delivery.open()
        #expect(problems.count == 1)
        #expect(problems.first?.contains("\(path) expired on 20") == true)
        #expect(problems.first?.contains("get a new one from Apple") == true)
        #expect(try fixture.call(phone("com.example.old"), delivery).outcome == .accepted)
        #expect(try last(fixture).hasToken, "the key takes its place")
        #expect(try fixture.call(phone("com.example.phone"), delivery).outcome == .accepted)
        let found = SettingsInspection.inspect(fixture.settings)
        #expect(found.count == 1)
        #expect(found.first?.level == .warning && found.first?.setting == "apns_cert")
        #expect(found.first?.message.contains("\(path) expired on 20") == true)
    }

    @Test func `take the newer of two certificates for one app`() throws {
        let fixture = try fixture()
        _ = system("rm \(fixture.directory)/apns/*")
        try fixture.write("\(fixture.directory)/apns/a.pem", try pem("com.example.phone", fixture, days: -3))
        try fixture.write("\(fixture.directory)/apns/b.pem", try pem("com.example.phone", fixture, days: 100))
        let delivery = fixture.opened(problems: 1)
        #expect(try fixture.call(phone("com.example.phone"), delivery).outcome == .accepted)
    }

    /// What `pushwake check` says about a file in the directory; the three good ones beside it stay usable.
    private func complaint(
        _ fixture: DeliveryFixture, _ files: [String: [UInt8]]
    ) throws -> [String] {
        for (name, bytes) in files { try fixture.write("\(fixture.directory)/apns/\(name)", bytes) }
        let delivery = fixture.opened(problems: 1)
        #expect(try fixture.call(phone("com.example.phone"), delivery).outcome == .accepted)
        return SettingsInspection.inspect(fixture.settings).map(\.message)
    }

    @Test(arguments: [
        ("wrong password", "does not open with the password in", "bad.pwd"),
        ("no password", "has a password; put it into", "bad.pwd"),
        ("no key", "holds no private key", "bad.key"),
        ("other key", "belongs to another certificate", "bad.key"),
        ("no certificate", "holds no certificate", "bad.pem"),
        ("garbage", "cannot be read", "bad.p12"),
        ("no app", "does not say which app it is for", "bad.pem"),
        ("not for clients", "which is not for pushes; export the one that is named Apple Push Services", "bad.pem"),
        ("request beside it", "holds no private key; put the key of bad.cer there", "bad.key"),
    ])
    func `name the file and the remedy of a bad one`(kind: String, words: String, file: String) throws {
        let fixture = try fixture()
        let made = try PushCertificates.issue(
            "Apple Push Services: com.example.bad", "com.example.bad", authority(fixture))
        let p12 = try made.identity.pkcs12(password: "s3same", name: "bad")
        let other = try PrivateKey.makeP256().pem()
        let nameless = try authority(fixture).issueClient("somebody")
        // As an iPhone Distribution certificate, it may sign and not log in.
        let server = try authority(fixture).issueServer(["com.example.bad"])
        let request = Array("-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n".utf8)
        let files: [String: [UInt8]] =
            switch kind {
            case "wrong password": ["bad.p12": p12, "bad.pwd": Array("wrong\n".utf8)]
            case "no password": ["bad.p12": p12]
            case "no key": ["bad.cer": try made.identity.leaf.der()]
            case "other key": ["bad.cer": try made.identity.leaf.der(), "bad.key": other]
            case "no certificate": ["bad.pem": other]
            case "garbage": ["bad.p12": Array("hello".utf8)]
            case "not for clients": ["bad.pem": server.certificatePEM + server.keyPEM]
            case "request beside it": ["bad.cer": try made.identity.leaf.der(), "bad.key": request]
            default: ["bad.pem": nameless.certificatePEM + nameless.keyPEM]
            }
        let found = try complaint(fixture, files)
        #expect(found.count == 1)
        #expect(found.first?.contains(words) == true, "\(found)")
        #expect(found.first?.contains("\(fixture.directory)/apns/bad.") == true)
        #expect(found.first?.contains(file) == true, "\(found)")
        #expect(found.first?.contains("s3same") != true, "a password is not for logs")
    }

    @Test func `take one file by its name, with the password from the file that a setting names`() throws {
        let fixture = try fixture()
        let single = "\(fixture.directory)/pushkit.p12"
        try fixture.write(single, try renewed(fixture))
        try fixture.write("\(fixture.directory)/secret", Array("\(PushCertificates.password)\n".utf8))
        try fixture.set(.apnsCert, to: single)
        #expect(SettingsInspection.inspect(fixture.settings).count == 1)
        try fixture.set(.apnsCertPasswordFile, to: "\(fixture.directory)/secret")
        #expect(SettingsInspection.inspect(fixture.settings) == [])
        let delivery = fixture.opened()
        #expect(try fixture.call(phone("com.example.phone"), delivery).outcome == .accepted)
        #expect(try fixture.call(phone("com.example.tablet"), delivery).reason == "NoCertificateForTopic")
    }

    @Test func `leave authorities and doubles in the directory alone`() throws {
        let fixture = try fixture()
        let directory = "\(fixture.directory)/apns"
        _ = system("cp \(fixture.directory)/files/apns-ca.pem \(directory)/AppleWWDRCA.pem")
        // What Apple let one download, beside the p12 that the keychain made of it; and what Mizutech makes of that.
        _ = system(
            """
            cd \(directory) && openssl pkcs12 -in pushkit.com.example.phone.p12 -passin pass:pushwake -nodes \
            -out all.tmp 2>/dev/null && openssl x509 -in all.tmp -outform der -out voip_services.cer && \
            openssl x509 -in all.tmp -out pushkitcert.com.example.phone.pem && \
            openssl pkey -in all.tmp -out pushkitkey.com.example.phone.pem && rm all.tmp
            """)
        #expect(try FileContent.names(in: directory, ending: "").count == 2 + 5 + 4)
        let delivery = fixture.opened()
        #expect(try fixture.call(phone("com.example.phone"), delivery).outcome == .accepted)
    }

    @Test func `that Apple refuses end with Apple's word`() throws {
        let fixture = try fixture()
        let stranger = try CertificateAuthority(name: "Somebody else")
        let made = try PushCertificates.issue(
            "Apple Push Services: com.example.strange", "com.example.strange", stranger)
        try fixture.write(
            "\(fixture.directory)/apns/com.example.strange.pem", made.certificatePEM + made.keyPEM)
        let delivery = fixture.opened()
        let verdict = try fixture.call(phone("com.example.strange"), delivery)
        #expect(verdict.outcome == .misconfigured && verdict.reason == "BadCertificate")
        fixture.play(#"{"apns": {"any_certificate": true}}"#)
        #expect(try fixture.call(phone("com.example.strange"), delivery).outcome == .accepted)
    }

    @Test func `are explained as they would be sent`() throws {
        let fixture = try fixture()
        func explained(_ app: String) throws -> JSONValue {
            let register = """
                REGISTER sip:example.com SIP/2.0\r
                To: <sip:alice@example.com>\r
                Call-ID: 1\r
                CSeq: 1 REGISTER\r
                Contact: <sip:a@192.0.2.1;pn-provider=apns;pn-param=DEF123GHIJ.\(app).voip;pn-prid=00fc>;expires=60\r
                \r

                """
            let invite = "INVITE sip:alice@example.com SIP/2.0\r\nCall-ID: 2\r\nCSeq: 1 INVITE\r\n\r\n"
            let explanation = try PushExplanation.explain(
                register: Array(register.utf8), request: Array(invite.utf8), settings: fixture.settings)
            #expect(explanation.problems == [])
            return try JSONParser.parse(explanation.json)
        }
        let covered = try explained("com.example.tablet")
        let headers = try #require(covered["requests"]?.array?.first?["headers"])
        #expect(headers["apns-topic"]?.string == "com.example.tablet.voip" && headers["authorization"] == nil)
        let other = try explained("com.example.other")
        #expect(other["requests"]?.array?.isEmpty == true)
        #expect(other["skipped"]?.array?.first?["reason"]?.string?.contains("no certificate in apns_cert") == true)
    }
}
