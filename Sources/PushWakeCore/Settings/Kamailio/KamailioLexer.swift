// SPDX-License-Identifier: MIT

/// Words, strings and punctuation of a kamailio.cfg, as its preprocessor leaves them.
struct KamailioLexer {
    struct Token {
        let text: String
        let isString: Bool
        let location: KamailioConfiguration.Location

        /// A name or a number.
        var isWord: Bool { !isString && text.utf8.first.map(KamailioLexer.isWordByte) == true }
    }

    private(set) var tokens: [Token] = []
    /// Files that could not be read. Kamailio passes over those of `import_file`.
    private(set) var missing: [(file: String, isNeeded: Bool, location: KamailioConfiguration.Location)] = []
    /// Files of `include_file` and `import_file` that were read.
    private(set) var included: [(file: String, location: KamailioConfiguration.Location)] = []
    private(set) var definitions: KamailioDefinitions
    /// Whether the text within each open `#!ifdef` counts.
    private var conditions: [Bool] = []
    private static let deepest = 8
    private static let mostTokens = 2_000_000
    /// Files that may still be included: one that includes itself more than once would be read without end.
    private var filesLeft = 500
    /// Names that may still be replaced: each may stand for more of them.
    private var replacementsLeft = 100_000

    init(_ definitions: KamailioDefinitions) { self.definitions = definitions }

    private var isSkipping: Bool { conditions.contains(false) }

    /// Adds the tokens of a text and of what it includes. All stand at `place`, where the text is what a name stands for.
    mutating func take(
        _ text: String, file: String, place: KamailioConfiguration.Location? = nil, depth: Int,
        read: (String) -> String?
    ) {
        var source = Source(text)
        // A string behind another one is a part of it.
        var isString = false
        while let byte = source.byte, tokens.count < Self.mostTokens {
            let location = place ?? KamailioConfiguration.Location(file: file, line: source.line)
            switch byte {
            case UInt8(ascii: "\n"), UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"):
                source.skip()
                continue
            case UInt8(ascii: "#") where source.next == UInt8(ascii: "!"): directive(source.directive())
            case UInt8(ascii: "!") where source.next == byte && source.isDirective: directive(source.directive())
            case UInt8(ascii: "#"): source.skipLine()
            case UInt8(ascii: "/") where source.next == byte: source.skipLine()
            case UInt8(ascii: "/") where source.next == UInt8(ascii: "*"): source.skipComment()
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                string(source.string(), location, isContinued: isString, depth: depth, read: read)
                isString = byte == UInt8(ascii: "\"")
                continue
            case _ where Self.isWordByte(byte): word(source.word(), location, depth: depth, read: read)
            default:
                if !isSkipping {
                    tokens.append(Token(text: String(UnicodeScalar(byte)), isString: false, location: location))
                }
                source.skip()
            }
            isString = false
        }
    }

    private mutating func word(
        _ text: String, _ location: KamailioConfiguration.Location, depth: Int, read: (String) -> String?
    ) {
        guard !isSkipping else { return }
        guard let value = definitions[text], !value.isEmpty, depth < Self.deepest, replacementsLeft > 0 else {
            return tokens.append(Token(text: text, isString: false, location: location))
        }
        replacementsLeft -= 1
        take(value, file: location.file, place: location, depth: depth + 1, read: read)
    }

    private mutating func string(
        _ raw: String, _ location: KamailioConfiguration.Location, isContinued: Bool, depth: Int,
        read: (String) -> String?
    ) {
        guard !isSkipping else { return }
        let text = definitions.replaced(in: raw)
        if isContinued, let last = tokens.last, last.isString {
            tokens[tokens.count - 1] = Token(text: last.text + text, isString: true, location: last.location)
            return
        }
        guard let last = tokens.last, !last.isString, ["include_file", "import_file"].contains(last.text) else {
            return tokens.append(Token(text: text, isString: true, location: location))
        }
        tokens.removeLast()
        let directory = location.file.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/")
        let path = text.hasPrefix("/") || directory.isEmpty ? text : "\(directory)/\(text)"
        guard depth < Self.deepest, filesLeft > 0 else { return }
        guard let included = read(path) else {
            return missing.append((path, last.text == "include_file", location))
        }
        filesLeft -= 1
        self.included.append((path, location))
        take(included, file: path, depth: depth + 1, read: read)
    }

    /// What stands behind `#!`.
    private mutating func directive(_ text: String) {
        let command = text.prefix { $0 != " " && $0 != "\t" && $0 != "\r" && $0 != "\n" && $0 != "\r\n" }
        let arguments = text[command.endIndex...]
        let name = arguments.split { $0 == " " || $0 == "\t" || $0 == "\r" }.first.map(String.init) ?? ""
        switch command {
        case "ifdef": conditions.append(isDefined(name))
        case "ifndef": conditions.append(!isDefined(name))
        case "ifexp": conditions.append(true)
        case "else": if let last = conditions.popLast() { conditions.append(!last) }
        case "endif": _ = conditions.popLast()
        case _ where isSkipping: break
        default: definitions.take(command, arguments)
        }
    }

    /// Kamailio defines MOD_… for each module that is loaded.
    private func isDefined(_ name: String) -> Bool {
        guard definitions[name] == nil else { return true }
        guard name.hasPrefix("MOD_") else { return false }
        let module = name.dropFirst(4)
        return tokens.indices.contains { index in
            guard tokens[index].text == "loadmodule" || tokens[index].text == "loadmodulex" else { return false }
            let file = tokens[(index + 1)...].prefix(2).first { $0.text != "(" }?.text.split(separator: "/").last
            return file == module || file == module + ".so"
        }
    }

    fileprivate static func isWordByte(_ byte: UInt8) -> Bool {
        byte >= 0x30 && byte <= 0x39 || (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A || byte == 0x5F || byte == 0x2E
    }
}

extension KamailioLexer {
    /// The bytes of a text, and how far they are read.
    fileprivate struct Source {
        private let bytes: [UInt8]
        private var position = 0
        private(set) var line = 1

        init(_ text: String) { bytes = Array(text.utf8) }

        private func at(_ index: Int) -> UInt8? { index < bytes.count ? bytes[index] : nil }

        var byte: UInt8? { at(position) }
        var next: UInt8? { at(position + 1) }

        /// Whether `!!` begins a directive, and is not twice "not".
        var isDirective: Bool {
            let begin = min(position + 2, bytes.count)
            let name = String(
                decoding: bytes[begin...].prefix { $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A }, as: UTF8.self)
            return KamailioLexer.directives.contains(name)
        }

        mutating func skip() {
            if byte == UInt8(ascii: "\n") { line += 1 }
            position += 1
        }

        mutating func skipLine() {
            position = bytes[position...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        }

        mutating func skipComment() {
            position += 2
            while position < bytes.count, !(byte == UInt8(ascii: "*") && next == UInt8(ascii: "/")) { skip() }
            position += 2
        }

        /// The rest of the line behind `#!`, and the lines that follow a backslash.
        mutating func directive() -> String {
            var text: [UInt8] = []
            position += 2
            while let byte, byte != UInt8(ascii: "\n") {
                let isContinued = byte == UInt8(ascii: "\\") && next == UInt8(ascii: "\n")
                text.append(isContinued ? UInt8(ascii: " ") : byte)
                skip()
                if isContinued { skip() }
            }
            return String(decoding: text, as: UTF8.self)
        }

        mutating func string() -> String {
            let quote = byte
            var text: [UInt8] = []
            skip()
            while let byte, byte != quote {
                if byte == UInt8(ascii: "\\"), next != nil { skip() }
                if let byte = self.byte { text.append(byte) }
                skip()
            }
            skip()
            return String(decoding: text, as: UTF8.self)
        }

        mutating func word() -> String {
            let end = bytes[position...].firstIndex { !KamailioLexer.isWordByte($0) } ?? bytes.count
            defer { position = end }
            return String(decoding: bytes[position..<end], as: UTF8.self)
        }
    }

    fileprivate static let directives: Set<String> = [
        "ifdef", "ifndef", "ifexp", "else", "endif", "define", "redefine", "def", "redef", "trydef", "trydefine",
        "undef", "undefine", "defenv", "defenvs", "trydefenv", "trydefenvs", "subst", "substdef", "substdefs",
    ]
}
