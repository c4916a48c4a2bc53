// SPDX-License-Identifier: MIT

// The one place below the layers that takes pointers (docs/decisions/0083): Swift 6.3 has no copy from a span to an
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

    /// Says whether there is a byte below the space, or one of two others, both ASCII. Takes eight bytes at a time.
    @inlinable @inline(__always)
    public func containsControl(or first: UInt8, or second: UInt8) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let (firsts, seconds) = (ones &* UInt64(first), ones &* UInt64(second))
        // The high bit of some byte is set if and only if one of the eight is looked for.
        @inline(__always)
        func marks(_ word: UInt64) -> UInt64 {
            let (a, b) = (word ^ firsts, word ^ seconds)
            return ((word &- ones &* 0x20) & ~word) | ((a &- ones) & ~a) | ((b &- ones) & ~b)
        }
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
            var found = unsafe marks(bytes.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self))
            var index = 0
            while index &+ 8 < count {
                found |= unsafe marks(bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                index &+= 8
            }
            return found & (ones &* 0x80) != 0
        }
    }
}
