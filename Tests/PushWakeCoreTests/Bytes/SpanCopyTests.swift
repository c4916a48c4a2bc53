// SPDX-License-Identifier: MIT

import PushWakeBytes
import Testing

@Suite struct `Blocks of bytes` {
    @Test(arguments: [0, 1, 7, 8, 9, 31, 32, 33, 255])
    func `a span goes behind what is there, whole`(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
        var out: [UInt8] = [1, 2]
        let copy = out
        out.append(copying: bytes.span)
        #expect(out == [1, 2] + bytes)
        #expect(copy == [1, 2])
    }

    @Test func `an array that is copied to itself has its bytes twice`() {
        let bytes = Array("abcdefghij".utf8)
        var out = bytes
        out.append(copying: bytes.span)
        #expect(out == bytes + bytes)
    }

    @Test func `no more is written than there is room for`() {
        let bytes = Array("abcdefghij".utf8)
        var out: [UInt8] = []
        out.append(addingCapacity: 4) { (end: inout OutputSpan<UInt8>) in
            let room = end.freeCapacity
            end.append(copying: bytes.span.extracting(0..<4))
            end.append(lowest: 8, of: .max)
            #expect(end.count <= max(room, 4))
        }
        #expect(out.starts(with: "abcd".utf8))
    }

    @Test(arguments: 0...9)
    func `the first bytes of a word are its lowest`(count: Int) {
        var out: [UInt8] = [9]
        out.append(addingCapacity: 16) { (end: inout OutputSpan<UInt8>) in
            end.append(lowest: count, of: 0x0807_0605_0403_0201)
        }
        #expect(out == [9] + (count <= 8 ? Array((1...9).prefix(count)) : []))
    }

    @Test(arguments: [1, 5, 7, 8, 9, 15, 16, 17, 40])
    func `a byte that is looked for is found wherever it stands`(count: Int) {
        for wanted in [UInt8(0), 0x0A, 0x1F, 0x22, 0x5C] {
            for place in 0..<count {
                var bytes = [UInt8](repeating: 0x61, count: count)
                bytes[place] = wanted
                let isFound = bytes.span.containsControl(or: 0x22, or: 0x5C)
                #expect(isFound, "\(wanted) at \(place) of \(count)")
            }
        }
    }

    @Test(arguments: [0, 1, 7, 8, 9, 16, 40])
    func `no other byte is taken for one`(count: Int) {
        for other in UInt8.min...UInt8.max where other >= 0x20 && other != 0x22 && other != 0x5C {
            let bytes = [UInt8](repeating: other, count: count)
            let isFound = bytes.span.containsControl(or: 0x22, or: 0x5C)
            #expect(!isFound, "\(other)")
            // Beside bytes with which a borrow could begin.
            let mixed = (0..<count).map { $0.isMultiple(of: 2) ? other : 0x20 }
            let isFoundMixed = mixed.span.containsControl(or: 0x22, or: 0x5C)
            #expect(!isFoundMixed, "\(other) beside blanks")
        }
    }

    @Test(arguments: 0...20)
    func `a text without a byte that is looked for is copied, any other is not`(count: Int) {
        let bytes = (0..<count).map { UInt8(0x41 + $0) }
        #expect(copied(bytes, room: 40) == bytes)
        #expect(copied(bytes, room: count) == bytes)
        if count > 0 { #expect(copied(bytes, room: count - 1) == nil) }
        for place in 0..<count {
            for wanted in [UInt8(0), 0x1F, 0x22, 0x5C] {
                var changed = bytes
                changed[place] = wanted
                #expect(copied(changed, room: 40) == nil)
            }
            var changed = bytes
            changed[place] = 0xFF
            #expect(copied(changed, room: 40) == changed)
        }
    }

    /// Nil where nothing was appended that should have been, or where all was refused.
    private func copied(_ bytes: [UInt8], room: Int) -> [UInt8]? {
        var out: [UInt8] = [9]
        var isCopied = false
        out.append(addingCapacity: room) { (end: inout OutputSpan<UInt8>) in
            isCopied = end.append(copying: bytes.span, unlessControlOr: 0x22, or: 0x5C)
        }
        guard isCopied else { return out == [9] ? nil : [] }
        return Array(out.dropFirst())
    }

    @Test func `where there is no room nothing is written`() {
        var out: [UInt8] = []
        out.append(addingCapacity: 39) { (end: inout OutputSpan<UInt8>) in
            end.append(first: 36, of: (1, 2, 3, 4, 5))
            #expect(end.count == 0)
            end.fill()
            end.append(ifRoom: 7)
            #expect(end.freeCapacity == 0)
        }
        #expect(out == Array(repeating: 0, count: 39))
    }

    @Test func `a word is eight bytes that are there`() {
        let bytes = (1...10).map { UInt8($0) }
        let words = [-1, 0, 2, 3, 10, .max].map { bytes.span.word(at: $0) }
        #expect(words == [0, 0x0807_0605_0403_0201, 0x0A09_0807_0605_0403, 0, 0, 0])
        let none = [UInt8]().span.word(at: 0)
        #expect(none == 0)
    }
}
