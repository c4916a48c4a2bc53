// SPDX-License-Identifier: MIT

internal import PushWakeBytes
internal import PushWakeCore

/// Reads one message field by field. Whatever the bytes are, it ends and stays in bounds.
public struct MessageReader: Sendable {
    /// One field: its tag, nil when this version does not know it, and where its bytes are.
    public struct Field: Sendable {
        public let tag: EngineProtocol.Tag?
        /// Into `bytes`, always within them.
        public let range: Range<Int>
    }

    /// The whole message, header included.
    public let bytes: [UInt8]
    public let kind: EngineProtocol.Kind
    /// Chosen by the client; a reply has that of its request.
    public let id: UInt32
    private var position = EngineProtocol.headerLength

    /// Nil when the header is not of this version.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count >= EngineProtocol.headerLength, bytes[0] == EngineProtocol.version,
            let kind = EngineProtocol.Kind(rawValue: bytes[1])
        else { return nil }
        self.bytes = bytes
        self.kind = kind
        self.id = Self.word(bytes, at: 2)
    }

    /// The next field; nil at the end, or where the rest makes no sense.
    public mutating func next() -> Field? {
        guard bytes.count - position >= 5 else { return nil }
        let tag = EngineProtocol.Tag(rawValue: bytes[position])
        let length = Int(Self.word(bytes, at: position + 1))
        let start = position + 5
        guard length <= bytes.count - start else {
            position = bytes.count
            return nil
        }
        position = start + length
        return Field(tag: tag, range: start..<start + length)
    }

    /// The next field under this tag, others left out; nil when there is none.
    public func first(_ tag: EngineProtocol.Tag) -> Field? {
        let wanted = UInt64(tag.rawValue)
        let bytes = bytes.span
        var position = position
        while bytes.count &- position >= 5 {
            // Of the last fields there may be no eight bytes.
            let isWhole = bytes.count &- position >= 8
            let head = isWhole ? bytes.word(at: position) : bytes.extracting(position..<position &+ 5).shortWord
            let length = Int(truncatingIfNeeded: head &>> 8 & 0xFFFF_FFFF)
            let start = position &+ 5
            guard length <= bytes.count &- start else { return nil }
            if head & 0xFF == wanted { return Field(tag: tag, range: start..<start &+ length) }
            position = start &+ length
        }
        return nil
    }

    /// The field as text; broken UTF-8 is mended.
    public func text(_ field: Field) -> String { String(decoding: bytes[field.range], as: UTF8.self) }

    /// The field as a number; 0 when it is none.
    public func number(_ field: Field) -> Int64 {
        field.range.count == 8 ? Int64(bitPattern: bytes.span.word(at: field.range.lowerBound)) : 0
    }

    private static func word(_ bytes: [UInt8], at index: Int) -> UInt32 {
        UInt32(bytes[index]) | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2]) << 16
            | UInt32(bytes[index + 3]) << 24
    }
}

/// Puts one message together in a buffer that is kept for the next one.
public struct MessageWriter: ~Copyable {
    /// The message so far, header included.
    public private(set) var bytes: [UInt8] = []
    /// Something did not fit; the message must not be sent.
    public private(set) var isOverfull = false

    /// With room for messages of so many bytes; longer ones find more.
    public init(room: Int = 2048) { bytes.reserveCapacity(room) }

    /// Begins a message, forgetting the one before.
    public mutating func begin(_ kind: EngineProtocol.Kind, id: UInt32) {
        bytes.removeAll(keepingCapacity: true)
        isOverfull = false
        let head = UInt64(EngineProtocol.version) | UInt64(kind.rawValue) << 8 | UInt64(id) << 16
        bytes.append(addingCapacity: 8) { (end: inout OutputSpan<UInt8>) in end.append(lowest: 6, of: head) }
    }

    /// Adds fields that are of use together alone: all of them, or none where there is no room; false then.
    public mutating func putTogether(_ fill: (inout MessageWriter) -> Void) -> Bool {
        guard !isOverfull else { return false }
        let before = bytes.count
        fill(&self)
        guard isOverfull else { return true }
        bytes.removeSubrange(before...)
        isOverfull = false
        return false
    }

    /// Adds a field of raw bytes.
    public mutating func put(_ tag: EngineProtocol.Tag, _ value: Span<UInt8>) {
        put(tag, value.count) { (end: inout OutputSpan<UInt8>) in end.append(copying: value) }
    }

    /// Adds a field of text.
    public mutating func put(_ tag: EngineProtocol.Tag, _ value: String) { put(tag, value.utf8.span) }

    /// Adds a field of bytes.
    public mutating func put(_ tag: EngineProtocol.Tag, _ value: [UInt8]) { put(tag, value.span) }

    /// Adds a number, as eight bytes.
    public mutating func put(_ tag: EngineProtocol.Tag, _ value: Int64) {
        put(tag, 8) { (end: inout OutputSpan<UInt8>) in end.append(lowest: 8, of: UInt64(bitPattern: value)) }
    }

    /// Puts another number in the place of one: that of the field with this place, when all before it are numbers too.
    mutating func replaceNumber(at place: Int, with value: Int64) {
        let start = EngineProtocol.headerLength + place * Self.numberLength + 5
        guard start + 8 <= bytes.count else { return }
        for index in 0..<8 { bytes[start + index] = UInt8(truncatingIfNeeded: value >> Int64(8 * index)) }
    }

    /// Bytes of a field that is a number.
    private static let numberLength = 13

    /// Adds a number, as eight bytes.
    public mutating func put(_ tag: EngineProtocol.Tag, _ value: Int) { put(tag, Int64(value)) }

    /// Adds tag, length and value, for which there is room.
    @inline(__always)
    private mutating func put(_ tag: EngineProtocol.Tag, _ count: Int, _ fill: (inout OutputSpan<UInt8>) -> Void) {
        guard count <= EngineProtocol.longestMessage - 5 - bytes.count else { return isOverfull = true }
        let head = UInt64(tag.rawValue) | UInt64(UInt32(truncatingIfNeeded: count)) << 8
        bytes.append(addingCapacity: 8 + count) { (end: inout OutputSpan<UInt8>) in
            end.append(lowest: 5, of: head)
            fill(&end)
        }
    }
}
