// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `The choice of a certificate` {
    private func certificate(
        _ topics: [String], file: String = "", sandbox: Bool = true, production: Bool = true,
        until end: Int64 = 1000
    ) -> APNsCertificate {
        var parts = APNsCertificate.Parts()
        (parts.isForSandbox, parts.isForProduction, parts.validUntil) = (sandbox, production, end)
        // Short UTF8Strings without the SEQUENCE around them are read as well.
        parts.topicLists = [topics.flatMap { [0x0C, UInt8($0.utf8.count)] + Array($0.utf8) }]
        return APNsCertificate(parts, fileName: file)
    }

    @Test func `goes by the topic that the request will have`() {
        let choice = APNsCertificateChoice(
            [certificate(["a.b", "a.b.voip"]), certificate(["c.d.voip"])], topic: .automatic)
        #expect(choice.certificate(for: "a.b", .alert, in: .production, now: 1) == 0)
        #expect(choice.certificate(for: "a.b", .voip, in: .production, now: 1) == 0)
        #expect(choice.certificate(for: "a.b.voip", .background, in: .sandbox, now: 1) == 0)
        #expect(choice.certificate(for: "c.d", .voip, in: .production, now: 1) == 1)
        #expect(choice.certificate(for: "c.d", .alert, in: .production, now: 1) == nil)
        #expect(choice.certificate(for: "x.y", .voip, in: .production, now: 1) == nil)
        #expect(choice.certificate(for: "", .voip, in: .production, now: 1) == nil)
    }

    @Test func `goes by the operator's rule for topics`() {
        let two = [certificate(["a.b"]), certificate(["a.b.voip"])]
        let package = APNsCertificateChoice(two, topic: .package)
        #expect(package.certificate(for: "a.b.voip", .voip, in: .production, now: 1) == 0)
        let fixed = APNsCertificateChoice(two, topic: .fixed("a.b.voip"))
        #expect(fixed.certificate(for: "anything", .alert, in: .production, now: 1) == 1)
        #expect(
            APNsCertificateChoice(two, topic: .fixed("c")).certificate(for: "a.b", .alert, in: .sandbox, now: 1) == nil)
    }

    @Test func `goes by the environment`() {
        let choice = APNsCertificateChoice(
            [certificate(["a.b"], production: false), certificate(["a.b"], sandbox: false)], topic: .automatic)
        #expect(choice.certificate(for: "a.b", .alert, in: .sandbox, now: 1) == 0)
        #expect(choice.certificate(for: "a.b", .alert, in: .production, now: 1) == 1)
    }

    @Test func `prefers the file named after the app, then the one that lasts longer, and none that is over`() {
        let choice = APNsCertificateChoice(
            [
                certificate(["a.b"], until: 500), certificate(["a.b"], until: 900),
                certificate(["a.b"], file: "pushkit.a.b.p12", until: 300),
            ], topic: .automatic)
        let chosen = [1, 300, 301, 900, 901].map { choice.certificate(for: "a.b", .alert, in: .sandbox, now: $0) }
        #expect(chosen == [2, 2, 1, 1, nil])
    }

    @Test func `knows what time does to a certificate`() {
        var parts = APNsCertificate.Parts()
        (parts.validFrom, parts.validUntil) = (1_700_000_000, 1_800_000_000)
        let found = APNsCertificate(parts, fileName: "")
        #expect(found.timeliness(at: 1_750_000_000) == .valid)
        #expect(found.timeliness(at: 1_799_000_000) == .ending(on: "2027-01-15"))
        #expect(found.timeliness(at: 1_800_000_001) == .expired(on: "2027-01-15"))
        #expect(found.timeliness(at: 1_600_000_000) == .early(from: "2023-11-14"))
        #expect(APNsCertificate(APNsCertificate.Parts(), fileName: "").timeliness(at: .max - 1) == .valid)
    }
}
