// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeSystem
import PushWakeTransport
import Testing

@testable import PushWakeSimulator

/// The whole simulator over TLS, with curl as the client.
@Suite(.serialized) struct `Simulator on the wire` {
    private func with(_ script: String = "{}", _ body: (RunningSimulator) throws -> Void) throws {
        let simulator = try RunningSimulator(script: script)
        defer {
            simulator.end()
            simulator.remove()
        }
        try body(simulator)
    }

    @Test func `takes a push over HTTP/2 and logs it before it answers`() throws {
        try with { (simulator) throws in
            let answer = try simulator.push()
            #expect(answer.status == 200)
            #expect(answer.version == "HTTP/2")
            #expect(answer.headers["apns-id"] == ServiceFixture.id)
            let line = try #require(try simulator.log().last)
            #expect(line["provider"]?.string == "apns")
            #expect(line["method"]?.string == "POST")
            #expect(line["path"]?.string == "/3/device/00fc13adff785122")
            #expect(line["headers"]?["apns-push-type"]?.string == "voip")
            #expect(line["body"]?["aps"] == .object([]))
            #expect(line["status"]?.integer == 200)
            #expect(line["reason"]?.string == "ok")
            #expect(line["connection"]?.integer == 1)
            #expect(line["stream"]?.integer == 1)
            let time = try #require(line["t"]?.integer)
            #expect(abs(time - SystemClock.wallSeconds()) < 10)
        }
    }

    @Test func `exchanges an assertion for a token that FCM takes`() throws {
        try with { (simulator) throws in
            let account = try JSONParser.parse(try FileContent.read(simulator.settings["fcm_key"]?.string ?? ""))
            let signer = try Signer(pem: Array((account["private_key"]?.string ?? "").utf8))
            let now = SystemClock.wallSeconds()
            let assertion = try simulator.makeToken(
                [
                    .init("alg", .string("RS256")), .init("typ", .string("JWT")),
                    .init("kid", account["private_key_id"] ?? .null),
                ],
                [
                    .init("iss", account["client_email"] ?? .null), .init("aud", account["token_uri"] ?? .null),
                    .init("scope", .string("https://www.googleapis.com/auth/firebase.messaging")),
                    .init("iat", .integer(now)), .init("exp", .integer(now + 3_600)),
                ], signer)
            let grant = "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=\(assertion)"
            let oauth = simulator.send("/token", body: grant, flags: "--http1.1")
            #expect(oauth.status == 200)
            let token = try #require(oauth.json?["access_token"]?.string)
            let project = try #require(account["project_id"]?.string)
            let answer = simulator.send(
                "/v1/projects/\(project)/messages:send", headers: ["authorization: Bearer \(token)"],
                body: #"{"message":{"token":"a:b","data":{"x":"1"}}}"#)
            #expect(answer.status == 200)
            #expect(answer.json?["name"]?.string?.hasPrefix("projects/\(project)/messages/") == true)
            #expect(try simulator.log().map { $0["provider"]?.string } == ["oauth", "fcm"])
        }
    }

    @Test func `verifies VAPID with the key that the request brings`() throws {
        try with { (simulator) throws in
            let vapid = try #require(simulator.settings["webpush"])
            let signer = try Signer(pem: try FileContent.read(vapid["vapid_key"]?.string ?? ""))
            let claims: [JSONValue.Member] = [
                .init("aud", .string(simulator.origin)), .init("exp", .integer(SystemClock.wallSeconds() + 600)),
                .init("sub", .string("mailto:push@example.com")),
            ]
            let token = try simulator.makeToken([.init("alg", .string("ES256"))], claims, signer)
            let key = vapid["vapid_public"]?.string ?? ""
            let answer = simulator.send("/push/s1", headers: ["TTL: 0", "authorization: vapid t=\(token), k=\(key)"])
            #expect(answer.status == 201)
            #expect(answer.headers["location"] == "\(simulator.origin)/message/1")
            let forged = simulator.send("/push/s1", headers: ["TTL: 0", "authorization: vapid t=\(token)AA, k=\(key)"])
            #expect(forged.status == 401)
        }
    }

    @Test func `answers Acrobits and counts by provider`() throws {
        try with { (simulator) throws in
            let body = #"{"verb":"NotifyIncomingCall","AppId":"a","DeviceToken":"t","Selector":"s","Id":"c"}"#
            for _ in 0..<2 { #expect(simulator.send("/pnm2/send", body: body).json?["code"]?.integer == 200) }
            let counters = try #require(simulator.counters())
            #expect(counters["providers"]?["acrobits"]?["accepted"]?.integer == 2)
            #expect(counters["duplicates"]?.integer == 1)
            #expect(try simulator.log().count == 2)
        }
    }

    @Test(arguments: [
        #"{"refuse":true}"#, #"{"reset":"CANCEL"}"#, #"{"close":"fin"}"#, #"{"close":"rst"}"#,
        #"{"goaway":{"last_stream":"none","reason":"Shutdown"}}"#, #"{"tls":"fail","count":1}"#,
        #"{"tls":"refuse","count":1}"#,
    ])
    func `does to a connection what the script says`(rule: String) throws {
        try with(#"{"rules":[\#(rule)]}"#) { (simulator) throws in
            #expect(try simulator.push(flags: "--http2 --retry 0").status == 0)
            #expect(simulator.counters()?["accepted"]?.integer == 0)
            #expect(simulator.play("{}") == 204)
            #expect(try simulator.push().status == 200)
        }
    }

    @Test func `never ends a handshake that it stalls`() throws {
        try with(#"{"rules":[{"tls":"stall","count":1}]}"#) { (simulator) throws in
            let start = SystemClock.monotonicMilliseconds()
            #expect(try simulator.push(flags: "--http2 --connect-timeout 1").status == 0)
            #expect(SystemClock.monotonicMilliseconds() - start >= 1_000)
            #expect(simulator.counters()?["open_connections"]?.integer == 1, "nobody keeps what the client has left")
            #expect(try simulator.push().status == 200)
        }
    }

    @Test(arguments: ["fail", "refuse", "stall"])
    func `hears at its second address while it lets nobody in at the first`(fault: String) throws {
        let simulator = try RunningSimulator(script: #"{"rules":[{"tls":"\#(fault)"}]}"#, hasControl: true)
        defer {
            simulator.end()
            simulator.remove()
        }
        #expect(try simulator.push(flags: "--http2 --connect-timeout 1").status == 0)
        #expect(simulator.counters()?["accepted"]?.integer == 0)
        #expect(simulator.play("{}") == 204)
        #expect(try simulator.push().status == 200)
    }

    @Test func `reads on after a pause`() throws {
        try with(#"{"rules":[{"count":1,"pause_reading_ms":200}]}"#) { (simulator) throws in
            for _ in 0..<2 { #expect(try simulator.push().status == 200) }
            #expect(simulator.counters()?["accepted"]?.integer == 2)
        }
    }

    @Test func `answers late and takes new rules while it runs`() throws {
        try with { (simulator) throws in
            #expect(simulator.play(#"{"rules":[{"provider":"apns","delay_ms":300,"reason":"Shutdown"}]}"#) == 204)
            let start = SystemClock.monotonicMilliseconds()
            #expect(try simulator.push().status == 503)
            #expect(SystemClock.monotonicMilliseconds() - start >= 300)
            #expect(simulator.play(#"{"rule":[]}"#) == 400)
        }
    }

    @Test func `answers before it says goodbye`() throws {
        try with(#"{"rules":[{"goaway":{"reason":"Shutdown"}}]}"#) { (simulator) throws in
            #expect(try simulator.push().status == 200)
            #expect(simulator.counters()?["goaways_sent"]?.integer == 1)
        }
    }

    @Test(arguments: ["--http2", "--http1.1"])
    func `closes after an answer that is late`(version: String) throws {
        try with(#"{"rules":[{"delay_ms":200,"reason":"Shutdown","close":"fin"}]}"#) { (simulator) throws in
            #expect(try simulator.push(flags: version).status == 503)
            #expect(simulator.counters()?["closes"]?.integer == 1)
        }
    }

    @Test(arguments: [#"{"refuse":true}"#, #"{"reset":"CANCEL"}"#, #"{"goaway":{"last_stream":"none"}}"#])
    func `leaves nobody waiting who has no streams`(rule: String) throws {
        try with(#"{"rules":[\#(rule)]}"#) { (simulator) throws in
            let start = SystemClock.monotonicMilliseconds()
            #expect(try simulator.push(flags: "--http1.1").status == 0)
            #expect(SystemClock.monotonicMilliseconds() - start < 8_000)
        }
    }

    @Test(arguments: [("--http2-prior-knowledge", "HTTP/2"), ("--http1.1", "HTTP/1.1")])
    func `understands who does not say in the handshake what he speaks`(flag: String, version: String) throws {
        try with { (simulator) throws in
            let answer = try simulator.push(flags: "--no-alpn \(flag)")
            #expect(answer.version == version)
            #expect(answer.status == 200)
        }
    }

    @Test func `numbers connections on after a reset`() throws {
        try with { (simulator) throws in
            #expect(try simulator.push().status == 200)
            #expect(simulator.send("/_simulator/reset").status == 204)
            #expect(try simulator.push().status == 200)
            let numbers = try simulator.log().compactMap { $0["connection"]?.integer }
            #expect(numbers == [1, 3])
        }
    }

    @Test func `keeps its keys and follows a new port`() throws {
        let first = try RunningSimulator()
        let files = ["ca.pem", "fcmkey.json"]
        let before = try files.map { try FileContent.read("\(first.directory)/files/\($0)") }
        first.end()
        let second = try RunningSimulator(in: first.directory)
        defer {
            second.end()
            second.remove()
        }
        let after = try files.map { try FileContent.read("\(first.directory)/files/\($0)") }
        #expect(before[0] == after[0])
        let account = try JSONParser.parse(after[1])
        #expect(account["token_uri"]?.string == "\(second.origin)/token")
        let earlier = try JSONParser.parse(before[1])
        #expect(account["private_key"] == earlier["private_key"])
        #expect(first.settings["apns_key"] == second.settings["apns_key"])
    }

    @Test(arguments: ["server.key", "vapid.pem", "fcmkey.json", "subscription.json"])
    func `keeps secrets to its user`(name: String) throws {
        try with { (simulator) throws in
            var status = stat()
            #expect(stat("\(simulator.directory)/files/\(name)", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
        }
    }
}
