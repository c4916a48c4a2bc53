// SPDX-License-Identifier: MIT

/// Makes random UUIDs (RFC 9562, 5.4), taking random bytes for many at a time: one call per id would cost more
/// than the id.
public struct UUIDSource {
    private var pool: [UInt8] = []
    private var used = 0

    /// Takes no random bytes until the first id.
    public init() {}

    /// Appends 36 lower-case characters.
    public mutating func append(to text: inout [UInt8]) {
        if used + 16 > pool.count {
            pool = Crypto.randomBytes(4096)
            used = 0
        }
        for index in 0..<16 {
            var byte = pool[used &+ index]
            if index == 6 { byte = byte & 0x0F | 0x40 }
            if index == 8 { byte = byte & 0x3F | 0x80 }
            if index == 4 || index == 6 || index == 8 || index == 10 { text.append(UInt8(ascii: "-")) }
            text.append(Self.digit(byte >> 4))
            text.append(Self.digit(byte & 0x0F))
        }
        used += 16
    }

    /// One UUID as text.
    public mutating func next() -> String {
        var text: [UInt8] = []
        append(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 &+ value : 0x57 &+ value }
}
