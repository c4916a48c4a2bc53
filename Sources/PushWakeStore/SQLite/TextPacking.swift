// SPDX-License-Identifier: MIT

/// Writes texts as short bytes and back, exactly.
///
/// A million Contacts hold each token twice, and the words of the dialects a million times. Bytes
/// below 0x20 are codes here: a run of hex or base64url digits, a UUID, a word of the list, or a
/// text that the row has in another column ("reference"). All other bytes stand for themselves.
///
/// The codes and words are part of the file format: change them only with a new schema version.
struct TextPacking {
    private enum Code {
        static let escape: UInt8 = 0
        static let lowerHex: UInt8 = 1
        static let upperHex: UInt8 = 2
        static let lowerUUID: UInt8 = 3
        static let upperUUID: UInt8 = 4
        static let base64: UInt8 = 5
        static let firstReference: UInt8 = 6
        static let firstWord: UInt8 = 11
    }

    private static let words: [[UInt8]] = [
        "sip:", "sips:", ";transport=tls", ";transport=tcp", ";transport=udp", ";transport=ws", ";pn-provider=apns",
        ";pn-provider=fcm", ";pn-provider=webpush", ";pn-param=", ";pn-prid=", ".voip", ".remote", ":voip", ":remote",
        "<urn:uuid:", ";pn-silent=1", ";pn-timeout=", ";pn-msg-str=", ";pn-call-str=", "https://",
    ].map { Array($0.utf8) }

    /// First bytes of the words.
    private static let wordBeginnings: [UInt8] = Array("s;.:<h".utf8)

    private static let shortestHex = 8
    private static let shortestBase64 = 12
    private static let shortestReference = 3
    private static let longestRun = 255

    private let references: [[UInt8]]

    /// Takes up to five texts that `unpack` will be given too, in the same order.
    init(references: [String] = []) {
        self.references = references.prefix(Int(Code.firstWord - Code.firstReference)).map { Array($0.utf8) }
    }

    // MARK: Packing

    /// Writes `text` as bytes.
    func pack(_ text: String) -> [UInt8] {
        let source = Array(text.utf8)
        var packed: [UInt8] = []
        packed.reserveCapacity(source.count)
        var position = 0
        while position < source.count {
            position +=
                packReference(source, position, &packed) ?? packUUID(source, position, &packed)
                ?? packRun(source, position, &packed)
        }
        return packed
    }

    private func packReference(_ source: [UInt8], _ position: Int, _ packed: inout [UInt8]) -> Int? {
        for (index, text) in references.enumerated()
        where text.count >= Self.shortestReference && source.has(text, at: position) {
            packed.append(Code.firstReference + UInt8(index))
            return text.count
        }
        guard Self.wordBeginnings.contains(source[position]) else { return nil }
        for (index, word) in Self.words.enumerated() where source.has(word, at: position) {
            packed.append(Code.firstWord + UInt8(index))
            return word.count
        }
        return nil
    }

    private func packUUID(_ source: [UInt8], _ position: Int, _ packed: inout [UInt8]) -> Int? {
        guard position + UUIDText.count <= source.count else { return nil }
        guard UUIDText.hyphens.allSatisfy({ source[position + $0] == UInt8(ascii: "-") }) else { return nil }
        let text = source[position..<(position + UUIDText.count)]
        for (code, digits) in [(Code.lowerUUID, Digits.lowerHex), (Code.upperUUID, Digits.upperHex)] {
            guard let bytes = UUIDText.bytes(of: text, digits) else { continue }
            packed.append(code)
            packed += bytes
            return UUIDText.count
        }
        return nil
    }

    private func packRun(_ source: [UInt8], _ position: Int, _ packed: inout [UInt8]) -> Int {
        let base64 = Digits.base64.run(in: source, from: position, limit: Self.longestRun)
        // Digits of hex are digits of base64url too.
        guard base64 >= Self.shortestHex else { return packPlain(source, position, max(1, base64), &packed) }
        let lower = Digits.lowerHex.run(in: source, from: position, limit: 2 * Self.longestRun) & ~1
        let upper = Digits.upperHex.run(in: source, from: position, limit: 2 * Self.longestRun) & ~1
        let hex = max(lower, upper)
        if hex >= Self.shortestHex, hex + 1 >= base64 || hex >= 2 * Self.shortestBase64 {
            packed += [lower >= upper ? Code.lowerHex : Code.upperHex, UInt8(hex / 2)]
            packed += Digits.hexBytes(source[position..<(position + hex)], lower >= upper ? .lowerHex : .upperHex)
            return hex
        }
        if base64 >= Self.shortestBase64 {
            packed += [Code.base64, UInt8(base64)]
            packed += Digits.base64Bytes(source[position..<(position + base64)])
            return base64
        }
        return packPlain(source, position, base64, &packed)
    }

    private func packPlain(_ source: [UInt8], _ position: Int, _ count: Int, _ packed: inout [UInt8]) -> Int {
        if source[position] < 0x20 { packed.append(Code.escape) }
        packed += source[position..<(position + count)]
        return count
    }

    // MARK: Unpacking

    /// Reads what `pack` wrote; nil when the bytes are damaged.
    func unpack(_ packed: [UInt8]) -> String? {
        var text: [UInt8] = []
        text.reserveCapacity(packed.count * 2 + references.reduce(0) { $0 + $1.count })
        var reader = ByteReader(packed)
        while let byte = reader.next() {
            if byte >= 0x20 {
                text.append(byte)
            } else if !unpack(code: byte, from: &reader, into: &text) {
                return nil
            }
        }
        return String(validating: text, as: UTF8.self)
    }

    private func unpack(code: UInt8, from reader: inout ByteReader, into text: inout [UInt8]) -> Bool {
        switch code {
        case Code.escape:
            guard let byte = reader.next() else { return false }
            text.append(byte)
        case Code.lowerHex, Code.upperHex:
            guard let count = reader.next(), let bytes = reader.next(Int(count)) else { return false }
            (code == Code.lowerHex ? Digits.lowerHex : .upperHex).appendHex(bytes, to: &text)
        case Code.lowerUUID, Code.upperUUID:
            guard let bytes = reader.next(16) else { return false }
            UUIDText.append(bytes, code == Code.lowerUUID ? .lowerHex : .upperHex, to: &text)
        case Code.base64:
            guard let count = reader.next(), let bytes = reader.next((Int(count) * 6 + 7) / 8) else { return false }
            Digits.base64.appendBase64(bytes, count: Int(count), to: &text)
        case Code.firstReference..<Code.firstWord:
            let index = Int(code - Code.firstReference)
            guard index < references.count else { return false }
            text += references[index]
        default:
            let index = Int(code - Code.firstWord)
            guard index < Self.words.count else { return false }
            text += Self.words[index]
        }
        return true
    }
}

/// The text form of a UUID: 8-4-4-4-12 hex digits.
private enum UUIDText {
    static let count = 36
    static let hyphens = [8, 13, 18, 23]

    static func bytes(of text: ArraySlice<UInt8>, _ digits: Digits) -> [UInt8]? {
        var hex: [UInt8] = []
        for (offset, byte) in text.enumerated() {
            if hyphens.contains(offset) {
                guard byte == UInt8(ascii: "-") else { return nil }
            } else {
                guard digits.value(of: byte) != nil else { return nil }
                hex.append(byte)
            }
        }
        return Digits.hexBytes(hex[...], digits)
    }

    static func append(_ bytes: ArraySlice<UInt8>, _ digits: Digits, to text: inout [UInt8]) {
        var rest = bytes
        for group in [4, 2, 2, 2, 6] {
            if rest.count < bytes.count { text.append(UInt8(ascii: "-")) }
            digits.appendHex(rest.prefix(group), to: &text)
            rest = rest.dropFirst(group)
        }
    }
}

extension [UInt8] {
    fileprivate func has(_ text: [UInt8], at position: Int) -> Bool {
        guard self[position] == text[0], position + text.count <= count else { return false }
        for index in text.indices where self[position + index] != text[index] { return false }
        return true
    }
}

/// Reads bytes from the front; nil when there are not enough.
struct ByteReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Nothing is left.
    var isEmpty: Bool { position == bytes.count }

    /// Reads one byte.
    mutating func next() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    /// Reads `count` bytes.
    mutating func next(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, count <= bytes.count - position else { return nil }
        defer { position += count }
        return bytes[position..<(position + count)]
    }

    /// Reads a number in groups of seven bits, lowest first.
    mutating func nextCount() -> Int? {
        var count = 0
        for shift in stride(from: 0, through: 28, by: 7) {
            guard let byte = next() else { return nil }
            count |= Int(byte & 0x7F) << shift
            if byte < 0x80 { return count }
        }
        return nil
    }
}

extension [UInt8] {
    /// Appends a number as `ByteReader.nextCount` reads it.
    mutating func append(count: Int) {
        var rest = UInt(bitPattern: count)
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }
}
