// SPDX-License-Identifier: MIT

import PushWakeCore

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

    private static let words = TextList([
        "sip:", "sips:", ";transport=tls", ";transport=tcp", ";transport=udp", ";transport=ws", ";pn-provider=apns",
        ";pn-provider=fcm", ";pn-provider=webpush", ";pn-param=", ";pn-prid=", ".voip", ".remote", ":voip", ":remote",
        "<urn:uuid:", ";pn-silent=1", ";pn-timeout=", ";pn-msg-str=", ";pn-call-str=", "https://",
    ])

    /// Where the words are that begin at `position`; others may be among them.
    private static func words(_ source: Span<UInt8>, _ position: Int) -> Range<Int> {
        switch source[position] {
        case UInt8(ascii: "s"): 0..<2
        case UInt8(ascii: ";"): words(afterSemicolon: position &+ 1 < source.count ? source[position &+ 1] : 0)
        case UInt8(ascii: "."): 11..<13
        case UInt8(ascii: ":"): 13..<15
        case UInt8(ascii: "<"): 15..<16
        case UInt8(ascii: "h"): 20..<21
        default: 0..<0
        }
    }

    private static func words(afterSemicolon byte: UInt8) -> Range<Int> {
        switch byte {
        case UInt8(ascii: "t"): 2..<6
        case UInt8(ascii: "p"): 6..<20
        default: 0..<0
        }
    }

    private static let shortestHex = 8
    private static let shortestBase64 = 12
    private static let shortestReference = 3
    private static let longestRun = 255

    private let references: TextList

    /// For texts that repeat nothing.
    static let plain = TextPacking()

    /// Takes up to five texts that `unpack` will be given too, in the same order.
    init(references: [String] = []) {
        let most = Int(Code.firstWord - Code.firstReference)
        self.references = TextList(references.count > most ? Array(references.prefix(most)) : references)
    }

    // MARK: Packing

    /// Writes `text` as bytes.
    func pack(_ text: String) -> [UInt8] {
        let source = text.utf8Span.span
        var packed: [UInt8] = []
        packed.reserveCapacity(source.count &+ 2)
        var position = 0
        while position < source.count {
            position +=
                packReference(source, position, &packed) ?? packUUID(source, position, &packed)
                ?? packRun(source, position, &packed)
        }
        return packed
    }

    private func packReference(_ source: Span<UInt8>, _ position: Int, _ packed: inout [UInt8]) -> Int? {
        if let index = references.index(
            in: source, at: position, among: 0..<references.count, shortest: Self.shortestReference)
        {
            packed.append(Code.firstReference + UInt8(truncatingIfNeeded: index))
            return references.count(of: index)
        }
        let words = Self.words(source, position)
        guard !words.isEmpty, let index = Self.words.index(in: source, at: position, among: words) else { return nil }
        packed.append(Code.firstWord + UInt8(truncatingIfNeeded: index))
        return Self.words.count(of: index)
    }

    private func packUUID(_ source: Span<UInt8>, _ position: Int, _ packed: inout [UInt8]) -> Int? {
        guard UUIDText.hasHyphens(source, at: position) else { return nil }
        let text = source.extracting(position..<(position + UUIDText.count))
        for (code, digits) in [(Code.lowerUUID, Digits.lowerHex), (Code.upperUUID, Digits.upperHex)] {
            guard let bytes = UUIDText.bytes(of: text, digits) else { continue }
            packed.append(code)
            packed += bytes
            return UUIDText.count
        }
        return nil
    }

    private func packRun(_ source: Span<UInt8>, _ position: Int, _ packed: inout [UInt8]) -> Int {
        let base64 = Digits.base64.run(in: source, from: position, limit: Self.longestRun)
        // Digits of hex are digits of base64url too.
        guard base64 >= Self.shortestHex else { return packPlain(source, position, max(1, base64), &packed) }
        let lower = Digits.lowerHex.run(in: source, from: position, limit: 2 * Self.longestRun) & ~1
        let upper = Digits.upperHex.run(in: source, from: position, limit: 2 * Self.longestRun) & ~1
        let hex = max(lower, upper)
        if hex >= Self.shortestHex, hex + 1 >= base64 || hex >= 2 * Self.shortestBase64 {
            packed.append(lower >= upper ? Code.lowerHex : Code.upperHex)
            packed.append(UInt8(truncatingIfNeeded: hex / 2))
            (lower >= upper ? Digits.lowerHex : .upperHex).appendBytes(
                ofHex: source.extracting(position..<(position + hex)), to: &packed)
            return hex
        }
        if base64 >= Self.shortestBase64 {
            packed.append(Code.base64)
            packed.append(UInt8(truncatingIfNeeded: base64))
            Digits.base64.appendBytes(ofBase64: source.extracting(position..<(position + base64)), to: &packed)
            return base64
        }
        return packPlain(source, position, base64, &packed)
    }

    private func packPlain(_ source: Span<UInt8>, _ position: Int, _ count: Int, _ packed: inout [UInt8]) -> Int {
        if source[position] < 0x20 { packed.append(Code.escape) }
        if count == 1 {
            packed.append(source[position])
        } else {
            source.extracting(position..<(position &+ count)).append(to: &packed)
        }
        return count
    }

    // MARK: Unpacking

    /// Reads what `pack` wrote; nil when the bytes are damaged.
    func unpack(_ packed: [UInt8]) -> String? { unpack(ByteReader(packed)) }

    /// The same for all that a reader has left.
    func unpack(_ packed: ByteReader) -> String? {
        var text: [UInt8] = []
        text.reserveCapacity(packed.count * 2 + references.length)
        var reader = packed
        while !reader.isEmpty {
            reader.nextRun(from: 0x20, to: &text)
            guard let code = reader.next() else { break }
            guard unpack(code: code, from: &reader, into: &text) else { return nil }
        }
        return text.span.validText()
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
            return references.append(Int(code - Code.firstReference), to: &text)
        default:
            return Self.words.append(Int(code - Code.firstWord), to: &text)
        }
        return true
    }
}

/// Texts behind one another in one piece of memory, to be found at a place of another text.
private struct TextList {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []
    /// The bit of each first byte: at most places of another text none of these begins.
    private var firsts: UInt64 = 0

    init(_ texts: [String]) {
        bytes.reserveCapacity(texts.reduce(0) { $0 + $1.utf8.count })
        ends.reserveCapacity(texts.count)
        for text in texts {
            if let first = text.utf8.first { firsts |= Self.bit(of: first) }
            bytes.append(contentsOf: text.utf8)
            ends.append(bytes.count)
        }
    }

    var count: Int { ends.count }

    /// Bytes of all texts.
    var length: Int { bytes.count }

    func count(of index: Int) -> Int { ends[index] - (index > 0 ? ends[index - 1] : 0) }

    /// The first of some texts that stands at `position`, shorter ones aside.
    func index(in source: Span<UInt8>, at position: Int, among texts: Range<Int>, shortest: Int = 1) -> Int? {
        let first = source[position]
        guard firsts & Self.bit(of: first) != 0, !texts.isEmpty else { return nil }
        let (bytes, ends) = (bytes.span, ends.span)
        var end = texts.lowerBound > 0 ? ends[texts.lowerBound &- 1] : 0
        for index in texts {
            let start = end
            end = ends[index]
            let count = end &- start
            guard count >= shortest, bytes[start] == first, count <= source.count &- position,
                // Words begin alike.
                source[position &+ count &- 1] == bytes[end &- 1]
            else { continue }
            var same = 1
            while same < count, source[position &+ same] == bytes[start &+ same] { same &+= 1 }
            if same == count { return index }
        }
        return nil
    }

    private static func bit(of byte: UInt8) -> UInt64 { 1 << UInt64(byte & 63) }

    /// Appends one of them; false when there are not so many.
    func append(_ index: Int, to text: inout [UInt8]) -> Bool {
        guard index < ends.count else { return false }
        bytes.span.extracting((ends[index] - count(of: index))..<ends[index]).append(to: &text)
        return true
    }
}

/// The text form of a UUID: 8-4-4-4-12 hex digits.
private enum UUIDText {
    static let count = 36

    static func hasHyphens(_ source: Span<UInt8>, at position: Int) -> Bool {
        position + count <= source.count && source[position + 8] == UInt8(ascii: "-")
            && source[position + 13] == UInt8(ascii: "-") && source[position + 18] == UInt8(ascii: "-")
            && source[position + 23] == UInt8(ascii: "-")
    }

    /// The bytes of a text that has its hyphens; nil when something else is no digit.
    static func bytes(of text: Span<UInt8>, _ digits: Digits) -> [UInt8]? {
        var hex: [UInt8] = []
        hex.reserveCapacity(32)
        for index in text.indices where index != 8 && index != 13 && index != 18 && index != 23 {
            guard digits.value(of: text[index]) != nil else { return nil }
            hex.append(text[index])
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        digits.appendBytes(ofHex: hex.span, to: &bytes)
        return bytes
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

/// Reads bytes from the front; nil when there are not enough.
struct ByteReader {
    private let bytes: [UInt8]
    private var position: Int
    private let end: Int

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        position = 0
        end = bytes.count
    }

    private init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    /// Nothing is left.
    var isEmpty: Bool { position == end }

    /// Bytes that are left.
    var count: Int { end &- position }

    /// Reads one byte.
    mutating func next() -> UInt8? {
        guard position < end else { return nil }
        let byte = bytes[position]
        position &+= 1
        return byte
    }

    /// Reads `count` bytes.
    mutating func next(_ count: Int) -> ArraySlice<UInt8>? {
        guard let part = part(count) else { return nil }
        return bytes[part.position..<part.end]
    }

    /// Leaves the next `count` bytes to another reader.
    mutating func part(_ count: Int) -> ByteReader? {
        guard count >= 0, count <= end &- position else { return nil }
        defer { position &+= count }
        return ByteReader(bytes, position..<(position &+ count))
    }

    /// Reads the bytes before the first that is below `least`.
    mutating func nextRun(from least: UInt8, to out: inout [UInt8]) {
        let (bytes, start) = (bytes, position)
        var upper = start
        while upper < end, bytes[upper] >= least { upper &+= 1 }
        position = upper
        if upper > start { bytes.span.extracting(start..<upper).append(to: &out) }
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
