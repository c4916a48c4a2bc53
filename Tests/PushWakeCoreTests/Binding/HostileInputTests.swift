// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

/// Rolls the same numbers in every run.
private struct Dice {
    private var random: SplitMix

    init(seed: UInt64) { random = SplitMix(seed) }

    mutating func roll(_ sides: Int) -> Int { Int(random.next() % UInt64(max(sides, 1))) }
}

@Suite struct `Hostile input` {
    private static let spice: [[UInt8]] =
        [
            "\"", "<", ">", ";", ",", "%", "%0", "%00", "%G1", "\\", "\r\n", "\r\n ", "\n", "\0", "&", ":", ":voip",
            "=", "*", "?", "@", "[",
            "pn-prid=", "pn-provider=", "X-MPUSH: ", "Contact: ", "null", "\u{7F}", "é",
        ].map { Array($0.utf8) } + [[0xFF], [0xC3], [0xED, 0xA0, 0x80]]

    private static func mutate(_ bytes: inout [UInt8], _ dice: inout Dice) {
        for _ in 0...dice.roll(3) {
            let index = dice.roll(bytes.count)
            switch dice.roll(6) {
            case 0 where !bytes.isEmpty: bytes[index] = UInt8(truncatingIfNeeded: dice.roll(256))
            case 1 where !bytes.isEmpty: bytes[index] ^= 1 << UInt8(dice.roll(8))
            case 2: bytes.removeSubrange(index...)
            case 3: bytes.removeSubrange(index..<min(bytes.count, index + dice.roll(40)))
            case 4:
                let end = min(bytes.count, index + dice.roll(60))
                bytes.insert(contentsOf: bytes[index..<end], at: dice.roll(bytes.count))
            default: bytes.insert(contentsOf: spice[dice.roll(spice.count)], at: index)
            }
        }
    }

    /// What must hold of every reading, whatever was read.
    private static func check(_ registration: Registration) -> Bool {
        let isBounded =
            registration.problems.count <= SIPLimits.mostProblems
            && registration.contacts.count <= SIPLimits.mostContacts
        return isBounded
            && registration.bindings.allSatisfy { binding in
                _ = binding.contactWithoutPushParameters
                let bytes = Array(binding.token.utf8) + Array(binding.app.utf8) + Array(binding.contact.utf8)
                return !binding.token.isEmpty && bytes.allSatisfy { $0 > 0x20 && $0 != 0x7F }
                    && binding.token.utf8.count <= SIPLimits.longestToken
                    && (binding.provider == .webpush || !binding.app.isEmpty)
                    && !(binding.provider == .apns && binding.token.utf8.contains { "/?#% ".utf8.contains($0) })
            }
    }

    /// Nothing is lost when nobody reads it: no push, no account, no problem.
    private static func saysNothing(_ registration: Registration) -> Bool {
        registration.contacts.allSatisfy { $0.push == .none } && registration.problems.isEmpty
            && !registration.unbinds && !registration.isPushedUpstream && registration.upstream == UpstreamAccount()
    }

    @Test(arguments: Fixture.names)
    func `never traps the reader and never yields a token that breaks a request`(name: String) {
        let original = Fixture.bytes(name)
        #expect(!original.isEmpty)
        var dice = Dice(seed: UInt64(original.count))
        var failures: [[UInt8]] = []
        for _ in 0..<1200 {
            var bytes = original
            Self.mutate(&bytes, &dice)
            let registration = Fixture.read(bytes)
            if !Self.check(registration) { failures.append(bytes) }
            if !Fixture.mayConcernPush(bytes), !Self.saysNothing(registration) { failures.append(bytes) }
            if RegisterDocument.parse(bytes.span).json.isEmpty { failures.append(bytes) }
        }
        #expect(failures.map { String(decoding: $0, as: UTF8.self) } == [])
    }

    @Test(arguments: Fixture.names)
    func `may end anywhere`(name: String) {
        let original = Fixture.bytes(name)
        for end in 0...original.count {
            #expect(Self.check(Fixture.read(Array(original[..<end]))))
        }
    }

    @Test func `of any bytes is read in every header`() {
        var dice = Dice(seed: 8599)
        let names = [
            "Contact", "X-MPUSH", "Feature-Caps", "Expires", "To", "CSeq", "X-PIID", "X-Sy.Uppersrv", "Call-ID", "m",
        ]
        for _ in 0..<20_000 {
            var value = (0..<dice.roll(60)).map { _ in UInt8(truncatingIfNeeded: dice.roll(256)) }
            Self.mutate(&value, &dice)
            var reader = RegistrationReader()
            let name = names[dice.roll(names.count)]
            reader.header(name: name.utf8.span, value: value.span)
            let registration = reader.finish()
            #expect(Self.check(registration))
            if !RegistrationReader.mayConcernPush(name: name.utf8.span, value: value.span) {
                #expect(Self.saysNothing(registration))
            }
            _ = NameAddress(value.span)
            _ = NameAddress.displayName(value.span)
        }
    }

    @Test func `in a Contact of any parts says nothing where it need not be read`() {
        let parts = [
            "<sip:a@h", "<", ">", "pn-prid=t", ";pn-prid=t", ";pn-provider=fcm", ";pn-param=p", ";app-id=x", ";AppId=x",
            ";x-mpush=a",
            ";push-token-id=t", ";devicetoken=t", ";selector=s", ";transport=tcp", ";a=b", ";+sip.instance=", "\"",
            "\"<urn:uuid:1>\"",
            "=", ";", "\\", " ", ",", "?", "*", "\u{1}", "\u{7F}", ";expires=60", "é",
        ].map { Array($0.utf8) }
        var dice = Dice(seed: 3261)
        for _ in 0..<40_000 {
            var value = dice.roll(3) > 0 ? parts[0] : []
            for _ in 0..<dice.roll(9) { value += parts[dice.roll(parts.count)] }
            if RegistrationReader.mayConcernPush(name: "Contact".utf8.span, value: value.span) { continue }
            var reader = RegistrationReader()
            reader.header(name: "Contact".utf8.span, value: value.span)
            let registration = reader.finish()
            #expect(Self.saysNothing(registration), "\(String(decoding: value, as: UTF8.self))")
        }
    }

    @Test func `about a service of a webhook's yields nothing that breaks a request`() throws {
        let others = try WebhookProviders(setting: "*")
        var dice = Dice(seed: 3)
        var bound = 0
        for _ in 0..<20_000 {
            var value = Array("<sip:a@h;pn-provider=huawei;pn-prid=abc;pn-param=com.example.phone>".utf8)
            Self.mutate(&value, &dice)
            var reader = RegistrationReader(others: others)
            reader.header(name: "Contact".utf8.span, value: value.span)
            for binding in reader.finish().bindings {
                bound += 1
                let bytes = Array(binding.token.utf8) + Array(binding.app.utf8) + Array(binding.providerName.utf8)
                #expect(!binding.token.isEmpty && bytes.allSatisfy { $0 > 0x20 && $0 != 0x7F })
                #expect(binding.provider != .webhook || others.serves(binding))
            }
        }
        #expect(bound > 1000)
    }

    @Test func `costs no more than its length`() {
        let clock = ContinuousClock()
        let worst = ["\"\\", "<", ",", ";", "\r\n ", "*,", "%41", "a=\"", "&", ":voip&"]
        for piece in worst {
            let value = Array(String(repeating: piece, count: 8000 / piece.utf8.count).utf8)
            let time = clock.measure {
                for name in ["Contact", "X-MPUSH", "Feature-Caps", "To"] {
                    var reader = RegistrationReader()
                    reader.header(name: name.utf8.span, value: value.span)
                    _ = reader.finish()
                }
            }
            #expect(time < .milliseconds(250))
        }
    }
}
