// SPDX-License-Identifier: MIT

// The one place below the layers that takes pointers: Swift 6.3 has no copy from a span to an
// array, and loops over single bytes were a tenth of what a push costs. Always inlined: a call costs as much as the copy.

extension Array where Element == UInt8 {
    /// Copies the bytes of a span to the end, as one block.
    @inlinable @inline(__always)
    public mutating func append(copying bytes: Span<UInt8>) {
        append(addingCapacity: bytes.count) { (end: inout OutputSpan<UInt8>) in end.append(copying: bytes) }
    }
}

extension OutputSpan where Element == UInt8 {
    /// Copies the bytes of a span to the end, as one block, as far as there is room.
    @inlinable @inline(__always)
    public mutating func append(copying bytes: Span<UInt8>) {
        let count = min(bytes.count, freeCapacity)
        // SAFETY: `room` has `count` bytes behind those that are there, and the two cannot overlap: `room` is held
        // exclusively.
        unsafe withUnsafeMutableBufferPointer { room, used in
            unsafe bytes.withUnsafeBufferPointer { source in
                guard let target = room.baseAddress, let first = source.baseAddress else { return }
                unsafe (target + used).initialize(from: first, count: count)
                used += count
            }
        }
    }

    /// Copies the bytes of a span to the end unless there is among them what `containsControl(or:or:)` looks for, or too little
    /// room for them: then it says false, and nothing has happened. Looks and copies eight bytes at a time.
    @inlinable @inline(__always)
    public mutating func append(
        copying bytes: Span<UInt8>, unlessControlOr first: UInt8, or second: UInt8
    ) -> Bool {
        let count = bytes.count
        guard count <= freeCapacity else { return false }
        let marks = ByteMarks(first, second)
        guard count >= 8 else {
            let word = bytes.shortWord
            // What is behind the bytes must not look like one.
            let neutral = ByteMarks.letters &<< UInt64(count &* 8)
            guard freeCapacity >= 8, marks.found(in: word | neutral) & ByteMarks.highBits == 0 else {
                guard !bytes.containsControl(or: first, or: second) else { return false }
                for index in bytes.indices { append(bytes[index]) }
                return true
            }
            append(lowest: count, of: word)
            return true
        }
        // SAFETY: `room` has `count` bytes behind those that are there, and no word reaches behind the last of either side; the
        // last word may overlap the one before. What is written and not counted is written over later.
        return unsafe withUnsafeMutableBufferPointer { room, used in
            unsafe bytes.withUnsafeBytes { source in
                guard let base = room.baseAddress else { return false }
                let target = unsafe UnsafeMutableRawPointer(base + used)
                let last = unsafe source.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
                unsafe target.storeBytes(of: last, toByteOffset: count &- 8, as: UInt64.self)
                var found = marks.found(in: last)
                var index = 0
                while index &+ 8 < count {
                    let word = unsafe source.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                    unsafe target.storeBytes(of: word, toByteOffset: index, as: UInt64.self)
                    found |= marks.found(in: word)
                    index &+= 8
                }
                guard found & ByteMarks.highBits == 0 else { return false }
                used &+= count
                return true
            }
        }
    }

    /// Appends so many bytes of five words, the first in the lowest place of the first. Without room for all forty it
    /// appends none.
    @inlinable @inline(__always)
    public mutating func append(
        first count: Int, of words: (UInt64, UInt64, UInt64, UInt64, UInt64)
    ) {
        guard count > 0, count <= 40, freeCapacity >= 40 else { return }
        // SAFETY: `room` has forty bytes behind those that are there; those past `count` are written over later.
        unsafe withUnsafeMutableBufferPointer { room, used in
            guard let base = room.baseAddress else { return }
            let target = unsafe UnsafeMutableRawPointer(base + used)
            unsafe target.storeBytes(of: words.0.littleEndian, as: UInt64.self)
            unsafe target.storeBytes(of: words.1.littleEndian, toByteOffset: 8, as: UInt64.self)
            unsafe target.storeBytes(of: words.2.littleEndian, toByteOffset: 16, as: UInt64.self)
            unsafe target.storeBytes(of: words.3.littleEndian, toByteOffset: 24, as: UInt64.self)
            unsafe target.storeBytes(of: words.4.littleEndian, toByteOffset: 32, as: UInt64.self)
            used += count
        }
    }

    /// Appends a byte, if there is room.
    @inlinable @inline(__always)
    public mutating func append(ifRoom byte: UInt8) {
        if freeCapacity > 0 { append(byte) }
    }

    /// Leaves no room.
    @inlinable
    public mutating func fill() { append(repeating: 0, count: freeCapacity) }

    /// Appends the first bytes of a word, the lowest first: at most eight. Without room for eight it appends none.
    @inlinable @inline(__always)
    public mutating func append(lowest count: Int, of word: UInt64) {
        guard count > 0, count <= 8, freeCapacity >= 8 else { return }
        // SAFETY: `room` has eight bytes behind those that are there; those past `count` are written over later.
        unsafe withUnsafeMutableBufferPointer { room, used in
            guard let target = room.baseAddress else { return }
            unsafe UnsafeMutableRawPointer(target + used).storeBytes(of: word.littleEndian, as: UInt64.self)
            used += count
        }
    }
}

extension Span where Element == UInt8 {
    /// Eight bytes as a word, the first in its lowest place; 0 when they are not all there.
    @inlinable @inline(__always)
    public func word(at index: Int) -> UInt64 {
        guard index >= 0, index <= count &- 8 else { return 0 }
        // SAFETY: the eight bytes are there.
        return unsafe withUnsafeBytes { bytes in
            unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
        }
    }

    /// Fewer than eight bytes as a word, the first in its lowest place; of more, the first eight.
    @inlinable @inline(__always)
    public var shortWord: UInt64 {
        let count = self.count
        if count >= 8 { return word(at: 0) }
        // SAFETY: no byte is loaded that is not there; the two halves may overlap.
        return unsafe withUnsafeBytes { bytes in
            if count >= 4 {
                let low = unsafe UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
                let high = unsafe UInt32(
                    littleEndian: bytes.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
                return UInt64(low) | UInt64(high) << UInt64((count &- 4) &* 8)
            }
            guard count > 0 else { return 0 }
            // Of one byte all three are the same, of two the last two.
            let middle = unsafe UInt64(bytes[count &>> 1]) << UInt64((count &>> 1) &* 8)
            return unsafe UInt64(bytes[0]) | middle | UInt64(bytes[count &- 1]) << UInt64((count &- 1) &* 8)
        }
    }

    /// Says whether there is a byte below the space, or one of two others, both ASCII. Takes eight bytes at a time.
    @inlinable @inline(__always)
    public func containsControl(or first: UInt8, or second: UInt8) -> Bool {
        let marks = ByteMarks(first, second)
        let count = self.count
        guard count >= 8 else {
            for index in indices {
                let byte = self[index]
                if byte < 0x20 || byte == first || byte == second { return true }
            }
            return false
        }
        // SAFETY: no word reaches behind the last byte; the last word may overlap the one before.
        return unsafe withUnsafeBytes { bytes in
            var found = unsafe marks.found(in: bytes.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self))
            var index = 0
            while index &+ 8 < count {
                found |= unsafe marks.found(in: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                index &+= 8
            }
            return found & ByteMarks.highBits != 0
        }
    }
}

/// Looks for controls and two other bytes in eight at once.
@usableFromInline
struct ByteMarks {
    @inlinable @inline(__always) static var highBits: UInt64 { 0x8080_8080_8080_8080 }
    @inlinable @inline(__always) static var ones: UInt64 { 0x0101_0101_0101_0101 }

    /// Bytes that nobody looks for.
    @inlinable @inline(__always) static var letters: UInt64 { 0x6161_6161_6161_6161 }

    @usableFromInline let firsts: UInt64
    @usableFromInline let seconds: UInt64

    @inlinable @inline(__always)
    init(_ first: UInt8, _ second: UInt8) {
        firsts = Self.ones &* UInt64(first)
        seconds = Self.ones &* UInt64(second)
    }

    /// The high bit of some byte is set if and only if one of the eight is looked for.
    @inlinable @inline(__always)
    func found(in word: UInt64) -> UInt64 {
        let (a, b) = (word ^ firsts, word ^ seconds)
        return ((word &- Self.ones &* 0x20) & ~word) | ((a &- Self.ones) & ~a) | ((b &- Self.ones) & ~b)
    }
}
