// SPDX-License-Identifier: MIT

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

    /// The field as text; broken UTF-8 is mended.
    public func text(_ field: Field) -> String { String(decoding: bytes[field.range], as: UTF8.self) }

    /// The field as a number; 0 when it is none.
    public func number(_ field: Field) -> Int64 {
        guard field.range.count == 8 else { return 0 }
        var value: UInt64 = 0
        for index in field.range.reversed() { value = value << 8 | UInt64(bytes[index]) }
        return Int64(bitPattern: value)
    }

    private static func word(_ bytes: [UInt8], at index: Int) -> UInt32 {
        UInt32(bytes[index]) | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2]) << 16
            | UInt32(bytes[index + 3]) << 24
    }
}
