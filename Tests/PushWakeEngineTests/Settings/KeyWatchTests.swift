// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeSystem
import PushWakeTransport
import Testing

@testable import PushWakeEngine

@Suite(.serialized) struct `Watching key files` {
    private let directory: String

    init() throws {
        var template = Array("/tmp/pushwake-keywatch-XXXXXX".utf8CString)
        directory = try #require(mkdtemp(&template).map { String(cString: $0) })
    }

    private func write(_ name: String, _ text: String) throws {
        let file = try #require(fopen("\(directory)/\(name)", "w"))
        fputs(text, file)
        fclose(file)
    }

    private func end() { _ = system("rm -rf \(directory)") }

    @Test func `sees a new, a changed and a lost file, each once and only after it has settled`() throws {
        defer { end() }
        try write("a.pem", "1")
        var seen: [Bool] = []
        var watch = KeyWatch([directory, "\(directory)/beside.key"])
        seen.append(watch.look())
        try write("b.pem", "1")
        seen.append(watch.look())  // whoever writes it may not be done
        seen.append(watch.look())
        seen.append(watch.look())
        try write("a.pem", "22")
        seen.append(watch.look())
        try write("a.pem", "333")
        seen.append(watch.look())
        seen.append(watch.look())
        unlink("\(directory)/b.pem")
        seen.append(watch.look())
        seen.append(watch.look())
        seen.append(watch.look())
        #expect(seen == [false, false, true, false, false, false, true, false, true, false])
    }

    @Test func `sees that a file was replaced by one of the same size`() throws {
        defer { end() }
        try write("a.pem", "1")
        var seen: [Bool] = []
        var watch = KeyWatch(["\(directory)/a.pem"])
        try write("new", "2")
        rename("\(directory)/new", "\(directory)/a.pem")
        seen.append(watch.look())
        seen.append(watch.look())
        #expect(seen == [false, true])
    }

    @Test func `sees only files whose name fits, where it is told which`() throws {
        defer { end() }
        var seen: [Bool] = []
        var watch = KeyWatch([directory], names: { $0.hasPrefix("fcmkey.") })
        try write("bindings.db", "1")
        seen.append(watch.look())
        seen.append(watch.look())
        try write("fcmkey.com.example.new.json", "1")
        seen.append(watch.look())
        seen.append(watch.look())
        #expect(seen == [false, false, false, true])
    }

    @Test func `a setting that names nothing is watched until something is there`() throws {
        defer { end() }
        var seen: [Bool] = []
        var watch = KeyWatch(["\(directory)/later.p8", ""])
        seen.append(watch.look())
        try write("later.p8", "1")
        seen.append(watch.look())
        seen.append(watch.look())
        #expect(seen == [false, false, true])
    }
}

@Suite(.serialized) struct `A key that changes while the engine runs` {
    private let phone = Binding(
        aor: "alice", provider: .apns, app: "com.example.phone", team: "DEF123GHIJ", service: .voip, token: "00fc13",
        dialect: .rfc8599)
    private let call = PushContent(event: .call, callID: "c1", fromURI: "sip:bob@example.com")

    /// Apple's key file is a link, so that a test can lead it elsewhere.
    private func fixture() throws -> DeliveryFixture {
        let fixture = try DeliveryFixture()
        let name = try #require(
            try FileContent.names(in: "\(fixture.directory)/files", ending: ".p8").first)
        _ = system("cp \(fixture.directory)/files/\(name) \(fixture.directory)/\(name)")
        try fixture.set(.apnsKey, to: "\(fixture.directory)/\(name)")
        try fixture.set(.apnsTeamID, to: "DEF123GHIJ")
        try fixture.set(.apnsURL, to: fixture.origin)
        try fixture.set(.apnsSandboxURL, to: fixture.origin)
        return fixture
    }

    @Test func `is taken without a restart, and a broken one is refused with one complaint`() throws {
        let fixture = try fixture()
        let key = fixture.settings.text(.apnsKey)
        let right = try FileContent.read(key)
        try fixture.write(key, try PrivateKey.makeP256().pem())
        let delivery = fixture.opened()
        #expect(try fixture.call(phone, delivery).reason == "InvalidProviderToken")

        try fixture.write(key, right)
        fixture.turn(seconds: 4) { fixture.lines.contains { $0.contains("keys for apns have changed") } }
        #expect(try fixture.call(phone, delivery).outcome == .accepted)

        try fixture.write(key, Array("no key".utf8))
        fixture.turn(seconds: 4) { fixture.lines.contains { $0.contains("no private key") } }
        fixture.turn(seconds: 2) { false }
        let complaints = fixture.lines.filter { $0.contains("no private key") }
        #expect(complaints.count == 1)
        #expect(complaints.first?.contains(key) == true)
        #expect(complaints.first?.contains("the key read before is still used") == true)
        #expect(try fixture.call(phone, delivery).outcome == .accepted)
        unlink(key)
        fixture.turn(seconds: 4) { fixture.lines.contains { $0.contains("No such file") } }
        #expect(try fixture.call(phone, delivery).outcome == .accepted)
        #expect(fixture.lines.count { $0.contains("keys for apns have changed") } == 1)
    }

    @Test func `pushes under way finish on the old connection, which ends after them`() throws {
        let fixture = try fixture()
        fixture.play(#"{"rules": [{"provider": "apns", "delay_ms": 3500}]}"#)
        let key = fixture.settings.text(.apnsKey)
        let delivery = fixture.opened()
        var ends: [Verdict] = []
        fixture.loop.updateTime()
        for number in 0..<50 {
            var phone = phone
            phone.token = "aa\(100 + number)"
            delivery.push(Push(phone, call, type: .voip, deadline: fixture.loop.now + 20_000)) { _, verdict, _ in
                ends.append(verdict)
            }
        }
        fixture.turn(seconds: 1) { false }
        try fixture.write(key, try FileContent.read(key))
        fixture.turn(seconds: 4) { fixture.lines.contains { $0.contains("keys for apns have changed") } }
        #expect(ends.isEmpty)
        fixture.turn(seconds: 10) { ends.count == 50 }
        #expect(ends.count == 50 && ends.allSatisfy { $0.outcome == .accepted })
        fixture.play("{}")
        #expect(try fixture.call(phone, delivery).outcome == .accepted)
        fixture.turn(seconds: 3) { fixture.counter("open_connections") == 2 }
        #expect(fixture.counter("duplicates") == 0)
        #expect(fixture.counter("distinct") == 51)
        // One for the new channel, and the one that asks for the counters.
        #expect(fixture.counter("open_connections") == 2)
    }

    @Test func `phones are told the new VAPID key`() throws {
        let fixture = try DeliveryFixture(.webPush)
        let path = "\(fixture.directory)/vapid.pem"
        let first = try PrivateKey.makeP256()
        try fixture.write(path, try first.pem())
        try fixture.set(.vapidKey, to: path)
        let delivery = fixture.delivery()
        var told: [String] = []
        delivery.onVAPIDKey = { told.append($0) }
        #expect(delivery.open() == [])
        delivery.watchKeys()
        let second = try PrivateKey.makeP256()
        try fixture.write(path, try second.pem())
        fixture.turn(seconds: 4) { told.count == 2 }
        #expect(told == [first, second].map { Base64URL.encode($0.publicPoint()) })
    }
}
