// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// Any bytes in names, tokens and texts: the request keeps the shape that its operator gave it.
@Suite struct `Hostile values in a webhook` {
    /// The same numbers in every run.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) ^ (state << 31)
        }
    }

    private let pieces = [
        "\r\nHost: x", "&a=b", "?x=", "#", "/../", "..", ".", "\"", "\\", "%", "TOKEN", "<from>", "$uid", "\0",
    ]

    private func noise(_ numbers: inout Numbers) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0...6, using: &numbers) {
            let bytes = (0..<4).map { _ in UInt8(truncatingIfNeeded: numbers.next() >> 7) }
            text += String(decoding: bytes, as: UTF8.self) + (pieces.randomElement(using: &numbers) ?? "")
        }
        return text
    }

    @Test func `add no part to path, query, field, form or JSON`() throws {
        var numbers = Numbers(state: 9)
        let url = "https://h.example/p/$token/q?a=$from-name&b=$to-uri&c=$uid"
        let headers = [WebhookSettings.Header(name: "X-From", value: "a <from-name> b")]
        let form = try WebhookRequest(
            settings: WebhookSettings(url: url, headers: headers, body: .form(WebhookSettings.usualForm)))
        let json = try WebhookRequest(settings: WebhookSettings(url: url, body: .json(WebhookSettings.usualJSON)))
        let parts = WebhookSettings.usualForm.split(separator: "&").count
        var built = 0
        for _ in 0..<2000 {
            var content = Samples.content(
                PushEvent.allCases.randomElement(using: &numbers) ?? .call, text: noise(&numbers))
            content.fromDisplay = noise(&numbers)
            content.toURI = noise(&numbers)
            content.callID = noise(&numbers)
            var binding = Binding(
                otherService: noise(&numbers), app: noise(&numbers), token: noise(&numbers), dialect: .rfc8599)
            binding.instance = noise(&numbers)
            let id = PushID(high: numbers.next(), low: numbers.next())
            guard let request = try? form.build(binding, content, id: id, now: .max) else {
                // Only a token with a step up or none in it is refused.
                #expect(binding.token.contains("."))
                continue
            }
            built += 1
            let target = try #require(request[":path"])
            let halves = target.split(separator: "?", omittingEmptySubsequences: false)
            #expect(target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && halves.count == 2)
            #expect(halves[0].split(separator: "/", omittingEmptySubsequences: false).count == 4)
            #expect(halves[1].split(separator: "&").count == 3)
            #expect(request["x-from"]?.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } == true)
            #expect(request.body.split(separator: UInt8(ascii: "&")).count == parts)
            let body = try json.build(binding, content, id: id, now: .max).body
            #expect(JSON.parse(body)?["token"] == .string(binding.token))
        }
        #expect(built > 1400)
    }

    @Test(arguments: [
        "..", ".", "../admin", "x/../../admin", "a/./b", "..\\admin", "%2e%2e", "%2E.", ".%252e", "%2525252e.",
        "..%2fadmin", "..%255Cadmin", "%u002e%u002E", "..%c0%afadmin", "%c0%ae%c0%ae", "%e0%80%ae.", "..;",
        "..;x=1/admin",
        "..%3Fx", "..%00", ".. ", "\u{FF0E}\u{FF0E}", "\u{FF0E}.\u{FF0F}admin", "..\u{FF3C}admin", "\u{FF05}2e.",
        "%\u{FF12}e.", "\u{2025}", "\u{2024}.", "..\u{2215}admin", "%%32e.", "...", "%25%32%65.",
    ])
    func `step up nowhere, in no encoding`(token: String) throws {
        let binding = Binding(otherService: "pigeon", app: "", token: token, dialect: .rfc8599)
        for url in [
            "https://h.example/wake/$token", "https://h.example/$token/wake", "https://h.example/wake/x%2F$token",
        ] {
            let webhook = try WebhookRequest(settings: WebhookSettings(url: url, body: .none))
            #expect(throws: PushFailure.unusableToken) { try webhook.build(binding, Samples.content(.call), now: 0) }
        }
        let query = try WebhookRequest(settings: WebhookSettings(url: "https://h.example/wake?to=$token", body: .none))
        #expect(throws: Never.self) { try query.build(binding, Samples.content(.call), now: 0) }
    }

    @Test(arguments: [
        "a.b", "..a", "a..", "1.2.3", "dGVzdA/+==", "c4:APA91b_-x", "100%", "%zz", "%2", "a%2Fb", "a\\b", "é",
        "\u{FF0E}x",
        "a;b", "\u{E0}\u{80}",
    ])
    func `tokens of all other forms are sent as they are`(token: String) throws {
        let binding = Binding(otherService: "pigeon", app: "", token: token, dialect: .rfc8599)
        let webhook = try WebhookRequest(settings: WebhookSettings(url: "https://h.example/wake/$token", body: .none))
        let request = try webhook.build(binding, Samples.content(.call), now: 0)
        let path = try #require(request[":path"])
        #expect(path.hasPrefix("/wake/") && !path.dropFirst(6).contains("/"))
    }
}
