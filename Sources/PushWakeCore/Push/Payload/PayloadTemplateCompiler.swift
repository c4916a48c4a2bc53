// SPDX-License-Identifier: MIT

/// Reads a template: a strict JSON parser (RFC 8259) that knows keywords and emits literals and fields.
///
/// White space outside strings is not emitted. A member that is dropped is parsed and checked
/// like any other, only its output is muted; commas are emitted before a member that is kept.
struct PayloadTemplateCompiler {
    private let source: [UInt8]
    private let rules: PayloadRules
    private var seen: Set<String> = []
    private var position = 0
    private var muted = 0
    private var literals: [UInt8] = []
    private var steps: [PayloadTemplate.Step] = []

    private static let maximumDepth = 32

    init(_ source: [UInt8], _ rules: PayloadRules) {
        self.source = TemplateText.withoutTail(source)
        self.rules = rules
    }

    /// Compiles the whole text: all literal bytes, and where the fields stand between them.
    mutating func compile() throws(PayloadTemplateError) -> ([UInt8], [PayloadTemplate.Step]) {
        guard source.count <= PayloadTemplate.maximumSourceBytes else {
            throw failure("the template is longer than \(PayloadTemplate.maximumSourceBytes) bytes")
        }
        if source.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        skipSpace()
        guard peek() == UInt8(ascii: "{") else {
            throw failure(peek() == nil ? "the template is empty" : "a template must begin with {")
        }
        try object(path: "", depth: 0)
        skipSpace()
        guard peek() == nil else {
            throw failure("text after the end of the object; mark the end with --EOF-- to keep notes there")
        }
        if let missing = rules.required.subtracting(seen).min() {
            throw failure("\"\(missing)\" is missing: the provider refuses a push without it", at: 0)
        }
        return compiled()
    }

    // MARK: - Grammar

    private mutating func value(path: String, depth: Int) throws(PayloadTemplateError) {
        guard let first = peek() else { throw failure("the text ends where a value is missing") }
        switch first {
        case UInt8(ascii: "{"): try object(path: path, depth: depth)
        case UInt8(ascii: "["): try array(path: path, depth: depth)
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
        default: try wordOrKeyword()
        }
    }

    private mutating func object(path: String, depth: Int) throws(PayloadTemplateError) {
        guard depth < Self.maximumDepth else { throw failure("nested deeper than \(Self.maximumDepth) levels") }
        emitNext()
        var names: Set<[UInt8]> = []
        var kept = 0
        skipSpace()
        if peek() == UInt8(ascii: "}") { return emitNext() }
        while true {
            let isKept = try member(path: path, depth: depth, comma: kept > 0, beside: &names)
            if isKept { kept += 1 }
            skipSpace()
            switch peek() {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "}"): return emitNext()
            default: throw failure("expected , or } after a member")
            }
            skipSpace()
            if peek() == UInt8(ascii: "}") { throw failure("no comma may stand before }") }
        }
    }

    /// Parses `"name": value`; says whether it was kept. Google refuses a name that stands twice, and nobody knows
    /// which of the two Apple would take.
    private mutating func member(
        path: String, depth: Int, comma: Bool, beside names: inout Set<[UInt8]>
    ) throws(PayloadTemplateError) -> Bool {
        skipSpace()
        guard peek() == UInt8(ascii: "\"") else { throw failure("expected a member name in quotes") }
        let start = position
        let name = TemplateText.rawString(in: source, at: position)
        let memberPath = path.isEmpty ? name : "\(path).\(name)"
        let isKept = !rules.dropped.contains(memberPath)
        if muted == 0, isKept, !rules.required.isEmpty { seen.insert(memberPath) }
        if !isKept { muted += 1 }
        if comma { emit(UInt8(ascii: ",")) }
        try string()
        guard names.insert(Array(source[start..<position])).inserted else {
            throw failure("this name stands twice in one object", at: start)
        }
        skipSpace()
        guard peek() == UInt8(ascii: ":") else { throw failure("expected : after the member name") }
        emitNext()
        skipSpace()
        let text = TemplateText.rawString(in: source, at: position)
        if let objection = rules.objection(to: name, under: path, valueStartingWith: peek(), text: text) {
            throw failure(objection, at: start)
        }
        try value(path: memberPath, depth: depth + 1)
        if !isKept { muted -= 1 }
        return isKept
    }

    private mutating func array(path: String, depth: Int) throws(PayloadTemplateError) {
        guard depth < Self.maximumDepth else { throw failure("nested deeper than \(Self.maximumDepth) levels") }
        emitNext()
        skipSpace()
        if peek() == UInt8(ascii: "]") { return emitNext() }
        while true {
            skipSpace()
            try value(path: path + "[]", depth: depth + 1)
            skipSpace()
            switch peek() {
            case UInt8(ascii: ","): emitNext()
            case UInt8(ascii: "]"): return emitNext()
            default: throw failure("expected , or ] after an element")
            }
            skipSpace()
            if peek() == UInt8(ascii: "]") { throw failure("no comma may stand before ]") }
        }
    }

    private mutating func string() throws(PayloadTemplateError) {
        emitNext()
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "\""): return emitNext()
            case UInt8(ascii: "\\"): try escapeSequence()
            case 0..<0x20: throw failure("a control character must be escaped inside a string")
            case 0x80...: try multibyte()
            default:
                if let (field, length) = TemplateText.keyword(in: source, at: position) {
                    emit(field)
                    position += length
                } else {
                    emitWord()
                }
            }
        }
        throw failure("the text ends inside a string")
    }

    private mutating func escapeSequence() throws(PayloadTemplateError) {
        let start = position
        emitNext()
        switch peek() {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            emitNext()
        case UInt8(ascii: "u"):
            let unit = TemplateText.unicodeUnit(in: source, at: position + 1)
            guard let unit else { throw failure("\\u needs four hexadecimal digits", at: start) }
            for _ in 0..<5 { emitNext() }
            // A lone surrogate is no text in UTF-8; strict readers at the provider refuse it.
            if unit & 0xFC00 == 0xDC00 { throw failure("\\u gives half a character", at: start) }
            if unit & 0xFC00 == 0xD800 {
                guard peek() == UInt8(ascii: "\\"), position + 1 < source.count,
                    source[position + 1] == UInt8(ascii: "u"),
                    let low = TemplateText.unicodeUnit(in: source, at: position + 2), low & 0xFC00 == 0xDC00
                else { throw failure("\\u gives half a character", at: start) }
                for _ in 0..<6 { emitNext() }
            }
        default: throw failure("no such escape sequence", at: start)
        }
    }

    private mutating func multibyte() throws(PayloadTemplateError) {
        let length = TemplateText.sequenceLength(in: source, at: position)
        guard length > 0 else { throw failure("the text is not UTF-8 here") }
        for _ in 0..<length { emitNext() }
    }

    private mutating func number() throws(PayloadTemplateError) {
        let start = position
        if peek() == UInt8(ascii: "-") { emitNext() }
        let integer = digits()
        let leadingZero = integer > 1 && source[position - integer] == UInt8(ascii: "0")
        guard integer > 0, !leadingZero else { throw failure("this is not a JSON number", at: start) }
        let isWhole = ![UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E")].contains(peek())
        if peek() == UInt8(ascii: ".") {
            emitNext()
            guard digits() > 0 else { throw failure("this is not a JSON number", at: start) }
        }
        if peek() == UInt8(ascii: "e") || peek() == UInt8(ascii: "E") {
            emitNext()
            if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { emitNext() }
            guard digits() > 0 else { throw failure("this is not a JSON number", at: start) }
        }
        // Legal JSON may have any number; who reads it need not (RFC 8259, 6).
        let text = String(decoding: source[start..<position], as: UTF8.self)
        guard isWhole ? Int64(text) != nil : Double(text)?.isFinite == true else {
            throw failure("this number is larger than readers of JSON take", at: start)
        }
    }

    private mutating func digits() -> Int {
        let start = position
        while let byte = peek(), byte >= 0x30, byte <= 0x39 { emitNext() }
        return position - start
    }

    private mutating func wordOrKeyword() throws(PayloadTemplateError) {
        for word in ["true", "false", "null"] where source[position...].starts(with: word.utf8) {
            for _ in word.utf8 { emitNext() }
            return
        }
        guard let (field, length) = TemplateText.keyword(in: source, at: position) else {
            throw failure("expected a value")
        }
        guard field.isLiteral else { throw failure("this keyword gives text and needs quotes around it") }
        emit(field)
        position += length
    }

    // MARK: - Output

    private mutating func emit(_ byte: UInt8) {
        if muted == 0 { literals.append(byte) }
    }

    private mutating func emit(_ field: PayloadField) {
        if muted == 0 { steps.append(PayloadTemplate.Step(end: literals.count, field: field)) }
    }

    /// Copies one byte of the source.
    private mutating func emitNext() {
        guard position < source.count else { return }
        emit(source[position])
        position += 1
    }

    /// Copies one byte, and with an upper-case letter the whole word it begins: `TOKENS` is not TOKEN and S.
    private mutating func emitWord() {
        for _ in 0..<max(1, TemplateText.wordLength(in: source, at: position)) { emitNext() }
    }

    private mutating func compiled() -> ([UInt8], [PayloadTemplate.Step]) {
        if literals.count > steps.last?.end ?? 0 {
            steps.append(PayloadTemplate.Step(end: literals.count, field: nil))
        }
        return (literals, steps)
    }

    // MARK: - Input

    private func peek() -> UInt8? { position < source.count ? source[position] : nil }

    private mutating func skipSpace() {
        while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private func failure(_ message: String, at offset: Int? = nil) -> PayloadTemplateError {
        PayloadTemplateError(message, at: offset ?? position, in: source)
    }

    /// Compiles text that is not JSON.
    static func compile(text source: [UInt8]) -> ([UInt8], [PayloadTemplate.Step]) {
        var compiler = Self(source, PayloadRules())
        while compiler.position < compiler.source.count {
            let here = compiler.position
            let found =
                TemplateText.keyword(in: compiler.source, at: here)
                ?? TemplateText.dollarName(in: compiler.source, at: here)
            if let (field, length) = found {
                compiler.emit(field)
                compiler.position += length
            } else {
                compiler.emitWord()
            }
        }
        return compiler.compiled()
    }
}
