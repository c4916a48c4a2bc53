// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `The wall clock` {
    @Test func `is heard of when it jumps by more than a day, once`() {
        var clock = WallClock(wall: 1000, running: 50)
        expectEqual(clock.look(wall: 1100, running: 150), nil)
        expectEqual(clock.look(wall: 2_000_000_000, running: 160).map { [$0.old, $0.new] }, [1110, 2_000_000_000])
        expectEqual(clock.look(wall: 2_000_000_010, running: 170), nil)
        expectEqual(
            clock.look(wall: 1_900_000_000, running: 180).map { [$0.old, $0.new] }, [2_000_000_020, 1_900_000_000])
    }

    @Test func `may be put right by less, again and again`() {
        var clock = WallClock(wall: 1_000_000, running: 0)
        for step in 1...50 as ClosedRange<Int64> {
            expectEqual(clock.look(wall: 1_000_000 + step * 80_000, running: step), nil)
        }
    }

    @Test func `makes one jump of two`() {
        var clock = WallClock(wall: 1000, running: 50)
        let first = clock.look(wall: 2_000_000_000, running: 60)
        let second = clock.look(wall: 1_900_000_000, running: 100)
        let both = first.flatMap { second?.following($0) }
        expectEqual(both.map { [$0.old, $0.new] }, [1050, 1_900_000_000])
    }

    @Test func `may sleep`() {
        var clock = WallClock(wall: 1_000_000, running: 0)
        expectEqual(clock.look(wall: 1_900_000, running: 900_000), nil)
    }

    @Test(arguments: [Int64.min, 0, .max], [Int64.min, 0, .max]) func `may say anything, and is heard of once`(
        wall: Int64, running: Int64
    ) {
        var clock = WallClock(wall: 0, running: 0)
        for (wall, running) in [(wall, running), (running, wall)] {
            let jump = clock.look(wall: wall, running: running)
            #expect(jump == nil || jump?.new == wall)
            expectEqual(clock.look(wall: wall, running: running), nil)
        }
    }
}

@Suite struct `Numbers are written in base ten` {
    @Test(arguments: 0...19)
    func `around each power of ten`(power: Int) {
        let start = (0..<power).reduce(UInt64(1)) { value, _ in value * 10 }
        for value in [start - 1, start, start + 1, start / 7, start / 3 * 2, start | 0xFF, UInt64.max / start] {
            var text: [UInt8] = []
            Decimal.append(value, to: &text)
            #expect(String(decoding: text, as: UTF8.self) == String(value))
        }
    }

    @Test func `drawn by chance`() {
        var state: UInt64 = 7
        for _ in 0..<20_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let value = state >> (state >> 58)
            var text: [UInt8] = []
            Decimal.append(value, to: &text)
            #expect(String(decoding: text, as: UTF8.self) == String(value))
        }
    }

    @Test(arguments: [Int64.min, -100_000_000, -10, -1, 0, 9, 1_700_000_000, .max])
    func `with a sign where there is the room that they ask for`(value: Int64) {
        var text: [UInt8] = []
        text.append(addingCapacity: Decimal.room) { (end: inout OutputSpan<UInt8>) in Decimal.append(value, to: &end) }
        #expect(String(decoding: text, as: UTF8.self) == String(value))
    }
}
