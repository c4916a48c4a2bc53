// SPDX-License-Identifier: MIT

/// Puts one message together in a buffer that is kept for the next one.
public struct MessageWriter: ~Copyable {
    /// The message so far, header included.
    public private(set) var bytes: [UInt8] = []
    /// Something did not fit; the message must not be sent.
    public private(set) var isOverfull = false

    public init() { bytes.reserveCapacity(2048) }

    /// Begins a message, forgetting the one before.
    public mutating func begin(_ kind: EngineProtocol.Kind, id: UInt32) {
        bytes.removeAll(keepingCapacity: true)
        isOverfull = false
        bytes.append(EngineProtocol.version)
        bytes.append(kind.rawValue)
        append(id)
    }

    /// Adds a field of raw bytes.
    public mutating func put(_ tag: EngineProtocol.Tag, _ value: Span<UInt8>) {
        guard reserve(tag, value.count) else { return }
        for index in value.indices { bytes.append(value[index]) }
    }

    /// Adds a field of text.
    public mutating func put(_ tag: EngineProtocol.Tag, _ value: String) {
        guard reserve(tag, value.utf8.count) else { return }
        bytes.append(contentsOf: value.utf8)
    }

    /// Adds a field of bytes.
    public mutating func put(_ tag: EngineProtocol.Tag, _ value: [UInt8]) {
        guard reserve(tag, value.count) else { return }
        bytes.append(contentsOf: value)
    }

    /// Adds a number, as eight bytes.
    public mutating func put(_ tag: EngineProtocol.Tag, _ value: Int64) {
        guard reserve(tag, 8) else { return }
        var rest = UInt64(bitPattern: value)
        for _ in 0..<8 {
            bytes.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }

    /// Adds a number, as eight bytes.
    public mutating func put(_ tag: EngineProtocol.Tag, _ value: Int) { put(tag, Int64(value)) }

    private mutating func reserve(_ tag: EngineProtocol.Tag, _ count: Int) -> Bool {
        guard count <= EngineProtocol.longestMessage - 5 - bytes.count else {
            isOverfull = true
            return false
        }
        bytes.append(tag.rawValue)
        append(UInt32(truncatingIfNeeded: count))
        return true
    }

    private mutating func append(_ value: UInt32) {
        bytes.append(UInt8(truncatingIfNeeded: value))
        bytes.append(UInt8(truncatingIfNeeded: value >> 8))
        bytes.append(UInt8(truncatingIfNeeded: value >> 16))
        bytes.append(UInt8(truncatingIfNeeded: value >> 24))
    }
}
