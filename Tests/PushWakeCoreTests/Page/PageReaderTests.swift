// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `A reader of the page` {
    private func name(_ event: [UInt8]?) -> String? {
        guard let event else { return nil }
        let lines = String(decoding: event, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        // Without a line of data, and without an empty one behind it, browsers drop an event.
        guard lines.count == 4, lines[1].hasPrefix("data: "), lines[2].isEmpty, lines[3].isEmpty else { return nil }
        return lines[0].hasPrefix("event: ") ? String(lines[0].dropFirst(7)) : nil
    }

    @Test func `hears of what has changed since its page was made, and of each change once`() {
        var reader = PageReader(query: "", now: 0)
        #expect(name(reader.next(changes: 0, hasReadAll: true, now: 1000)) == "change")
        #expect(reader.next(changes: 0, hasReadAll: true, now: 2000) == nil)
        #expect(name(reader.next(changes: 9, hasReadAll: true, now: 3000)) == "change")
        #expect(reader.next(changes: 9, hasReadAll: true, now: 4000) == nil)
    }

    @Test func `gets nothing more until it has read, and then hears of what came meanwhile`() {
        var reader = PageReader(query: "", now: 0)
        _ = reader.next(changes: 1, hasReadAll: true, now: 1000)
        for now in Int64(2)...100 { #expect(reader.next(changes: 7, hasReadAll: false, now: now * 1000) == nil) }
        #expect(name(reader.next(changes: 7, hasReadAll: true, now: 101_000)) == "change")
    }

    @Test func `hears something now and then although nothing changes`() {
        var reader = PageReader(query: "bob", now: 0)
        _ = reader.next(changes: 1, hasReadAll: true, now: 1000)
        #expect(reader.next(changes: 1, hasReadAll: true, now: 15_999) == nil)
        #expect(name(reader.next(changes: 1, hasReadAll: true, now: 16_000)) == "alive")
        #expect(reader.next(changes: 1, hasReadAll: true, now: 17_000) == nil)
    }
}
