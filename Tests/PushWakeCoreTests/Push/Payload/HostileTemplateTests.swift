// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// Broken templates and any bytes as values: what compiles must render to JSON, and nothing may trap.
@Suite struct `Hostile template` {
    /// The same numbers in every run.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) ^ (state << 31)
        }
    }

    private func noise(_ numbers: inout Numbers, _ count: Int) -> String {
        let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: numbers.next() >> 7) }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: BuiltInPayloads.Family.allCases)
    func `is refused, or renders to JSON, however it was damaged`(family: BuiltInPayloads.Family) throws {
        var numbers = Numbers(state: 42)
        let sources = [BuiltInPayloads.source(family, .apns, .alert), BuiltInPayloads.source(family, .fcm, .alert)]
        var compiled = 0
        for round in 0..<600 {
            var source = Array(sources[round % 2].utf8)
            for _ in 0..<Int.random(in: 1...3, using: &numbers) {
                let index = Int.random(in: 0..<source.count, using: &numbers)
                switch Int.random(in: 0...3, using: &numbers) {
                case 0: source[index] = UInt8.random(in: 0...255, using: &numbers)
                case 1: source.remove(at: index)
                case 2: source.insert(Array("{}[]\",:<>\\0A".utf8).randomElement(using: &numbers) ?? 0, at: index)
                default: source.removeSubrange(index...)
                }
                if source.isEmpty { source = [0x7B] }
            }
            guard let template = try? PayloadTemplate(json: source) else { continue }
            compiled += 1
            var content = Samples.content(.call, text: noise(&numbers, 40))
            content.fromDisplay = noise(&numbers, 20)
            content.fromURI = noise(&numbers, 20)
            content.callID = noise(&numbers, 20)
            var out: [UInt8] = []
            template.render(PayloadValues(binding: Samples.remote, content: content, now: .max), into: &out)
            #expect(JSON.parse(out) != nil, "\(String(decoding: out, as: UTF8.self))")
        }
        #expect(compiled > 20)
    }

    @Test func `gives a request or a refusal for any event, text and time`() throws {
        var numbers = Numbers(state: 7)
        let library = try PayloadLibrary(.mizutech)
        for _ in 0..<300 {
            var content = Samples.content(PushEvent.allCases.randomElement(using: &numbers) ?? .call)
            content.fromDisplay = noise(&numbers, Int.random(in: 0...6000, using: &numbers))
            content.text = noise(&numbers, Int.random(in: 0...6000, using: &numbers))
            content.callID = noise(&numbers, Int.random(in: 0...200, using: &numbers))
            content.timeToLive = UInt32.random(in: 0...UInt32.max, using: &numbers)
            content.sentAt = Int64.random(in: Int64.min...Int64.max, using: &numbers)
            let now = Int64.random(in: Int64.min...Int64.max, using: &numbers)
            let request = try APNsRequest.build(
                Samples.remote, content, .alert, payloads: library, settings: APNsSettings(), authorization: [],
                authority: "h", id: PushID(high: numbers.next(), low: numbers.next()), now: now)
            #expect(request.body.count <= 4096)
            #expect(JSON.parse(request.body) != nil)
            #expect(request["apns-id"]?.utf8.count == 36)
        }
    }
}
