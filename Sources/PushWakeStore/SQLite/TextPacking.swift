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
    private static let longestRun = 255

    private let references: References

    /// For texts that repeat nothing.
    static let plain = TextPacking()

    /// Takes up to five texts that `unpack` will be given too, in the same order.
    init(references: [String] = []) { self.references = References(references) }

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
        if let index = references.index(in: source, at: position) {
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
    func unpack(_ packed: Span<UInt8>) -> String? {
        var room: [UInt8] = []
        return unpack(packed, by: &room)
    }

    /// The same, for who reads several: what is in `room` is lost.
    func unpack(_ packed: Span<UInt8>, by room: inout [UInt8]) -> String? {
        guard !packed.isEmpty else { return "" }
        room.removeAll(keepingCapacity: true)
        room.reserveCapacity(packed.count &* 2 &+ references.length)
        var reader = ByteReader(packed)
        while !reader.isEmpty {
            reader.nextRun(from: 0x20, to: &room)
            guard let code = reader.next() else { break }
            guard unpack(code: code, from: &reader, into: &room) else { return nil }
        }
        return room.span.validText()
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

/// Texts that a row has in other columns.
private struct References {
    private static let most = 5
    private static let shortest = 3

    private let texts: [String]
    /// The bit of each first byte: at most places of another text none of these begins.
    private let firsts: UInt64

    init(_ texts: [String]) {
        self.texts = texts.count > Self.most ? Array(texts.prefix(Self.most)) : texts
        firsts = self.texts.reduce(0) { firsts, text in firsts | (text.utf8.first.map(Self.bit) ?? 0) }
    }

    private static func bit(of byte: UInt8) -> UInt64 { 1 << UInt64(byte & 63) }

    /// Bytes of all texts.
    var length: Int { texts.reduce(0) { $0 + $1.utf8.count } }

    func count(of index: Int) -> Int { texts[index].utf8.count }

    /// The first that stands at `position` of a text, shorter ones aside.
    func index(in source: Span<UInt8>, at position: Int) -> Int? {
        guard firsts & Self.bit(of: source[position]) != 0 else { return nil }
        for index in texts.indices {
            let text = texts[index].utf8.span
            if text.count >= Self.shortest, source.has(text, at: position) { return index }
        }
        return nil
    }

    /// Appends one of them; false when there are not so many.
    func append(_ index: Int, to text: inout [UInt8]) -> Bool {
        guard index < texts.count else { return false }
        texts[index].utf8.span.append(to: &text)
        return true
    }
}

/// Texts behind one another in one piece of memory, to be found at a place of another text.
private struct TextList {
    private let bytes: [UInt8]
    private let ends: [Int]

    init(_ texts: [String]) {
        bytes = texts.flatMap(\.utf8)
        ends = texts.indices.map { index in texts[...index].reduce(0) { $0 + $1.utf8.count } }
    }

    func count(of index: Int) -> Int { ends[index] - start(of: index) }

    private func start(of index: Int) -> Int { index > 0 ? ends[index - 1] : 0 }

    /// The first of some texts that stands at `position`.
    func index(in source: Span<UInt8>, at position: Int, among texts: Range<Int>) -> Int? {
        guard !texts.isEmpty else { return nil }
        let (bytes, ends) = (bytes.span, ends.span)
        var start = texts.lowerBound > 0 ? ends[texts.lowerBound &- 1] : 0
        for index in texts {
            if source.has(bytes.extracting(start..<ends[index]), at: position) { return index }
            start = ends[index]
        }
        return nil
    }

    /// Appends one of them; false when there are not so many.
    func append(_ index: Int, to text: inout [UInt8]) -> Bool {
        guard index < ends.count else { return false }
        bytes.span.extracting(start(of: index)..<ends[index]).append(to: &text)
        return true
    }
}

extension Span<UInt8> {
    /// Says whether `word` stands at `position`, empty ones not. Looks at its last byte first: words begin alike.
    @inline(__always)
    fileprivate func has(_ word: Span<UInt8>, at position: Int) -> Bool {
        let count = word.count
        guard count > 0, count <= self.count &- position, self[position &+ count &- 1] == word[count &- 1] else {
            return false
        }
        var same = 0
        while same < count, self[position &+ same] == word[same] { same &+= 1 }
        return same == count
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

    /// Appends the text of sixteen bytes.
    static func append(_ bytes: Span<UInt8>, _ digits: Digits, to text: inout [UInt8]) {
        digits.appendHex(bytes.extracting(0..<4), to: &text)
        for group in [4..<6, 6..<8, 8..<10, 10..<16] {
            text.append(UInt8(ascii: "-"))
            digits.appendHex(bytes.extracting(group), to: &text)
        }
    }
}
