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
                // Only a token that is itself a step up or none is refused.
                #expect([".", ".."].contains(binding.token))
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
        #expect(built > 1500)
    }
}
