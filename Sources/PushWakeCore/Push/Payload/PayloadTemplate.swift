// SPDX-License-Identifier: MIT

internal import PushWakeBytes

/// A push payload: JSON text with keywords, compiled once, rendered once per push.
///
/// Compiling checks the JSON grammar with the keywords in their places, so that rendering
/// cannot give anything but valid JSON: literal runs are copied, values are escaped for the
/// string they stand in, and only fields that always are numbers may stand bare.
public struct PayloadTemplate: Equatable, Sendable {
    /// A run of literal bytes and the field behind it. Plain numbers, so that rendering counts no references.
    struct Step: Equatable, Sendable {
        /// Where in `literals` the run ends; it begins where the one before ends.
        let end: Int
        /// Nil at the end of the template.
        let field: PayloadField?
    }

    /// All literal bytes, one run after the other.
    private let literals: [UInt8]
    private let steps: [Step]
    private let escape: TextEscape

    /// A browser takes what this gives as a declarative push message (W3C Push API).
    var isDeclarative: Bool {
        let mark = Array("\"web_push\":8030".utf8)
        var start = 0
        for step in steps {
            let run = literals[start..<step.end]
            if run.indices.contains(where: { run[$0...].starts(with: mark) }) { return true }
            start = step.end
        }
        return false
    }

    /// Longest template that is read; far above any provider's payload limit.
    public static let maximumSourceBytes = 65_536

    /// Compiles JSON with keywords under a provider's rules.
    ///
    /// Text below an `--EOF--` mark is ignored (Mizutech). Throws with line and column when the
    /// text is not one JSON object.
    public init(
        json source: some Sequence<UInt8>, rules: PayloadRules = PayloadRules()
    ) throws(PayloadTemplateError) {
        var compiler = PayloadTemplateCompiler(Array(source), rules)
        (literals, steps) = try compiler.compile()
        escape = .json
    }

    /// Compiles text with keywords that is not JSON: a URL, a form body, a header value.
    public init(text source: some Sequence<UInt8>, escape: TextEscape) {
        (literals, steps) = PayloadTemplateCompiler.compile(text: Array(source))
        self.escape = escape
    }

    /// Bytes that most payloads fit in.
    private static let usualRoom = 1024
    /// More room than anything wants that looks at it before it writes.
    private static let spareRoom = 64

    /// Appends the payload of one push.
    public func render(_ values: PayloadValues, into out: inout [UInt8]) {
        _ = append(values.push, values.context, most: .max / 4, to: &out)
    }

    /// Appends the payload, giving up text of ever greater importance until it fits `limit` bytes.
    ///
    /// Returns false, with `out` as it was, when even the call id with nothing else is too long.
    public func render(_ values: PayloadValues, limit: Int, into out: inout [UInt8]) -> Bool {
        render(values.push, values.context, limit: limit, into: &out)
    }

    /// The same for who has a push.
    func render(_ push: Push, _ context: PayloadContext, limit: Int, into out: inout [UInt8]) -> Bool {
        if append(push, context, most: limit, to: &out) { return true }
        var shorter = context
        for sacrifice in PayloadContext.Sacrifice.allCases {
            shorter.sacrifice = sacrifice
            let fits =
                sacrifice == .text
                ? appendCut(push, shorter, most: limit, to: &out) : append(push, shorter, most: limit, to: &out)
            if fits { return true }
        }
        return false
    }

    /// Appends the payload with as many characters of the text as fit; false when it does not fit without any. An escape makes
    /// several bytes of one, and a template may have the text twice: only trying tells.
    private func appendCut(_ push: Push, _ context: PayloadContext, most: Int, to out: inout [UInt8]) -> Bool {
        let ends = [0] + push.content.text.characterEnds(within: most)
        let start = out.count
        var shorter = context
        var (fitting, failing) = (-1, ends.count)
        while failing - fitting > 1 {
            let middle = (fitting + failing) / 2
            shorter.textBytes = ends[middle]
            if append(push, shorter, most: most, to: &out) {
                out.removeSubrange(start...)
                fitting = middle
            } else {
                failing = middle
            }
        }
        guard fitting >= 0 else { return false }
        shorter.textBytes = ends[fitting]
        return append(push, shorter, most: most, to: &out)
    }

    /// Appends the payload if it has at most so many bytes. A piece at a time would ask the array for room as often: there
    /// is room for a usual one first, and for twice as much as long as that is full.
    private func append(_ push: Push, _ context: PayloadContext, most: Int, to out: inout [UInt8]) -> Bool {
        let largest = min(max(most, 0), .max / 4) &+ Self.spareRoom
        var room = min(max(Self.usualRoom, out.capacity &- out.count), largest)
        while true {
            var (isFull, fits) = (false, false)
            out.append(addingCapacity: room) { (end: inout OutputSpan<UInt8>) in
                write(push, context, to: &end)
                isFull = end.freeCapacity == 0
                fits = !isFull && end.count <= most
                if !fits { end.removeAll() }
            }
            if fits { return true }
            guard isFull, room < largest else { return false }
            room = min(room &* 2, largest)
        }
    }

    /// Leaves no room where there was too little.
    private func write(_ push: Push, _ context: PayloadContext, to out: inout OutputSpan<UInt8>) {
        let literals = literals.span
        let steps = steps.span
        var start = 0
        var uuid: InlineArray<36, UInt8>?
        for index in steps.indices {
            let step = steps[index]
            out.append(copying: literals.extracting(start..<step.end))
            start = step.end
            if step.field == .callUUID {
                // Worth to be made once: a payload has it under the names of several apps.
                let text = uuid ?? PayloadContext.uuid(ofCall: push.content.callID).text
                uuid = text
                out.append(copying: text.span)
            } else if let field = step.field {
                context.append(field, of: push, escape, to: &out)
            }
        }
    }
}

/// Why a template was refused, and where: line and column count from 1, columns in bytes.
public struct PayloadTemplateError: Error, Equatable, Sendable {
    public let line: Int
    public let column: Int
    public let message: String

    /// Places `message` at a byte offset of `source`.
    init(_ message: String, at offset: Int, in source: [UInt8]) {
        let before = source.prefix(offset)
        line = 1 + before.count { $0 == 0x0A }
        column = offset - (before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
        self.message = message
    }
}

/// What the template compiler reads below the level of JSON: keywords, marks, UTF-8.
enum TemplateText {
    /// The text up to the `--EOF--` mark, in its plain and its typographic forms.
    static func withoutTail(_ source: [UInt8]) -> [UInt8] {
        let word: [UInt8] = [0x45, 0x4F, 0x46]
        var index = 0
        while index + word.count <= source.count {
            if source[index...].starts(with: word), let dashes = dashLength(before: index, in: source),
                isDash(at: index + word.count, in: source)
            {
                return Array(source[..<(index - dashes)])
            }
            index += 1
        }
        return source
    }

    /// Bytes of `--`, an en dash or an em dash that end at `index`.
    private static func dashLength(before index: Int, in source: [UInt8]) -> Int? {
        if index >= 3, isLongDash(at: index - 3, in: source) { return 3 }
        if index >= 2, source[index - 2] == 0x2D, source[index - 1] == 0x2D { return 2 }
        return nil
    }

    private static func isDash(at index: Int, in source: [UInt8]) -> Bool {
        source[index...].starts(with: [0x2D, 0x2D]) || isLongDash(at: index, in: source)
    }

    private static func isLongDash(at index: Int, in source: [UInt8]) -> Bool {
        source[index...].starts(with: [0xE2, 0x80, 0x93]) || source[index...].starts(with: [0xE2, 0x80, 0x94])
    }

    /// The keyword that begins at `index`, with its length: an upper-case word of its own, or `<name>`.
    static func keyword(in source: [UInt8], at index: Int) -> (PayloadField, Int)? {
        if source[index] == UInt8(ascii: "<") {
            let rest = source[(index + 1)...].prefix(32)
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
            return PayloadField(name: source[(index + 1)..<end]).map { ($0, end + 1 - index) }
        }
        let length = wordLength(in: source, at: index)
        guard length > 0 else { return nil }
        return PayloadField(word: source[index..<(index + length)]).map { ($0, length) }
    }

    /// The `$name` that begins at `index`, with its length; only outside JSON.
    static func dollarName(in source: [UInt8], at index: Int) -> (PayloadField, Int)? {
        guard source[index] == UInt8(ascii: "$") else { return nil }
        let name = source[(index + 1)...].prefix { $0 >= 0x61 && $0 <= 0x7A || $0 == 0x2D }
        return PayloadField(dollarName: name).map { ($0, name.count + 1) }
    }

    /// Bytes of the run of upper-case letters, digits and underscores that begins with a letter at `index`.
    static func wordLength(in source: [UInt8], at index: Int) -> Int {
        guard source[index] >= 0x41, source[index] <= 0x5A else { return 0 }
        let rest = source[index...]
        let end = rest.firstIndex { !($0 >= 0x41 && $0 <= 0x5A || $0 >= 0x30 && $0 <= 0x39 || $0 == 0x5F) }
        return (end ?? rest.endIndex) - index
    }

    /// The text between the quotes at `index`, escapes left as they are; only for names of members.
    static func rawString(in source: [UInt8], at index: Int) -> String {
        let rest = source[index...].dropFirst()
        return String(decoding: rest.prefix { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }, as: UTF8.self)
    }

    /// The value of four hexadecimal digits; nil when they are not all there.
    static func unicodeUnit(in source: [UInt8], at index: Int) -> UInt32? {
        guard index + 4 <= source.count else { return nil }
        var value: UInt32 = 0
        for byte in source[index..<(index + 4)] {
            switch byte {
            case 0x30...0x39: value = value << 4 | UInt32(byte - 0x30)
            case 0x41...0x46: value = value << 4 | UInt32(byte - 0x37)
            case 0x61...0x66: value = value << 4 | UInt32(byte - 0x57)
            default: return nil
            }
        }
        return value
    }

    /// Bytes of the well-formed UTF-8 sequence at `index`; 0 when it is not well-formed (Unicode, table 3-7).
    static func sequenceLength(in source: [UInt8], at index: Int) -> Int {
        let first = source[index]
        let second: ClosedRange<UInt8>
        let length: Int
        switch first {
        case 0x00...0x7F: return 1
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return 0
        }
        guard index + length <= source.count, second.contains(source[index + 1]) else { return 0 }
        let tail = source[(index + 2)..<(index + length)]
        return tail.allSatisfy { $0 & 0xC0 == 0x80 } ? length : 0
    }
}
