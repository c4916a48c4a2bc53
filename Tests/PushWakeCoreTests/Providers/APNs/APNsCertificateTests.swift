// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `APNs certificates` {
    /// An element in DER.
    private func der(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        content.count < 128
            ? [tag, UInt8(content.count)] + content
            : [tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
    }

    private func text(_ text: String, tag: UInt8 = 0x0C) -> [UInt8] { der(tag, Array(text.utf8)) }

    /// As Apple writes it: each topic with the kinds of push that it is for.
    private func list(_ topics: [(String, [String])]) -> [UInt8] {
        der(0x30, topics.flatMap { topic, kinds in text(topic) + der(0x30, kinds.flatMap { text($0) }) })
    }

    private func certificate(_ name: String = "", fill: (inout APNsCertificate.Parts) -> Void) -> APNsCertificate {
        var parts = APNsCertificate.Parts()
        fill(&parts)
        return APNsCertificate(parts, fileName: name)
    }

    @Test func `have their topics in Apple's extension`() {
        let bytes = list([
            ("com.example.phone", ["app"]), ("com.example.phone.voip", ["voip"]),
            ("com.example.phone.complication", ["complication"]),
        ])
        let found = certificate {
            $0.userID = "com.example.phone"
            $0.commonName = "Apple Push Services: com.example.phone"
            $0.topicLists = [bytes]
            ($0.isForSandbox, $0.isForProduction) = (true, true)
        }
        #expect(
            found.topics == ["com.example.phone", "com.example.phone.voip", "com.example.phone.complication"])
        #expect(found.covers("com.example.phone.voip") && !found.covers("com.example.other"))
        #expect(!found.covers("com.example") && !found.covers("com.example.phone.voip.x"))
        #expect(found.allows(.sandbox) && found.allows(.production))
    }

    @Test func `of VoIP services have theirs in an extension of its own, or only in the subject`() {
        let plain = certificate { $0.topicLists = [text("com.example.phone.voip"), [0x05, 0x00]] }
        #expect(plain.topics == ["com.example.phone.voip"])
        let subject = certificate {
            $0.commonName = "VoIP Services: com.example.phone"
            $0.userID = "com.example.phone.voip"
        }
        #expect(subject.topics == ["com.example.phone.voip"])
        let onlyName = certificate { $0.commonName = "VoIP Services: com.example.phone" }
        #expect(onlyName.covers("com.example.phone.voip"))
    }

    @Test func `take a long list`() {
        let topics = (0..<40).map { "com.example.app\($0)" }
        let found = certificate { $0.topicLists = [list(topics.map { ($0, ["app"]) })] }
        #expect(found.topics == topics)
    }

    @Test(arguments: [
        [], [0x30], [0x30, 0x80], [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x30, 0x05, 0x0C, 0x03, 0x61],
        [0x0C, 0x83, 0xFF, 0xFF, 0xFF], [0x30, 0x03, 0x0C, 0x81], [0x0C, 0x00], [0x0C, 0x01, 0x0A],
        [0x0C, 0x02, 0xC3, 0x28],
    ])
    func `survive a list that is none`(bytes: [UInt8]) {
        #expect(certificate { $0.topicLists = [bytes] }.topics == [])
    }

    @Test func `survive a list cut anywhere`() {
        let bytes = list([("com.example.phone", ["app"]), ("com.example.phone.voip", ["voip"])])
        for count in bytes.indices {
            let found = certificate { $0.topicLists = [Array(bytes.prefix(count))] }
            #expect(found.topics.count <= 2)
        }
    }

    @Test(arguments: [
        ("com.example.phone.p12", ["com.example.phone", "com.example.phone.voip"], Environment.standard),
        ("pushkit.com.example.phone.pfx", ["com.example.phone", "com.example.phone.voip"], .standard),
        ("pushkitcert.com.example.phone.pem", ["com.example.phone", "com.example.phone.voip"], .standard),
        ("com.example.phone.prod.pem", ["com.example.phone", "com.example.phone.voip"], .production),
        ("com.example.phone.voip.dev.pem", ["com.example.phone.voip"], .sandbox),
        ("pushkit.p12", [], .standard),
        ("voip_services.cer", [], .standard),
    ])
    func `that do not say are known by their file's name`(
        file: String, topics: [String], environment: Environment
    ) {
        let found = certificate(file) { _ in }
        #expect(found.topics == topics)
        #expect(found.allowsSandbox == (environment != .production))
        #expect(found.allowsProduction == (environment != .sandbox))
    }

    @Test func `count more than their file's name`() {
        let found = certificate("com.example.other.dev.pem") {
            $0.userID = "com.example.phone"
            $0.isForProduction = true
        }
        #expect(found.topics == ["com.example.phone"])
        #expect(found.allowsProduction && !found.allowsSandbox && !found.isNamedAfterApp)
        #expect(certificate("pushkit.com.example.phone.p12") { $0.userID = "com.example.phone.voip" }.isNamedAfterApp)
        #expect(!certificate("pushkit.p12") { $0.userID = "com.example.phone" }.isNamedAfterApp)
    }

    @Test func `have a beginning and an end`() {
        let found = certificate { ($0.validFrom, $0.validUntil) = (100, 200) }
        #expect([99, 100, 200, 201].map { found.isValid(at: $0) } == [false, true, true, false])
    }
}
