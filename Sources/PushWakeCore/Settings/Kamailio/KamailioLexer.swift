// SPDX-License-Identifier: MIT

/// Words, strings and punctuation of a kamailio.cfg, with what its preprocessor leaves of it.
struct KamailioLexer {
    struct Token {
        let text: String
        let isString: Bool
        let location: KamailioConfiguration.Location

        /// A name or a number.
        var isWord: Bool { !isString && text.utf8.first.map(KamailioLexer.isWordByte) == true }
    }

    private(set) var tokens: [Token] = []
    /// Files of `import_file` that are not there, which Kamailio passes over.
    private(set) var missing: [(file: String, location: KamailioConfiguration.Location)] = []
    private var defines: [String: String] = [:]
    /// Whether the text within each open `#!ifdef` counts.
    private var conditions: [Bool] = []
    private static let deepest = 8
    private static let mostTokens = 2_000_000
    /// Files that may still be included: one that includes itself more than once would be read without end.
    private var filesLeft = 500

    init(defines: [String]) {
        for define in defines {
            let parts = define.split(separator: "=", maxSplits: 1)
            if let name = parts.first { self.defines[String(name)] = parts.count > 1 ? String(parts[1]) : "" }
        }
    }

    private var isSkipping: Bool { conditions.contains(false) }

    /// Adds the tokens of a text and of what it includes.
    mutating func take(_ text: String, file: String, depth: Int, read: (String) -> String?) {
        let source = Array(text.utf8)
        var position = 0
        var line = 1
        func at(_ index: Int) -> UInt8 { index < source.count ? source[index] : 0 }
        while position < source.count, tokens.count < Self.mostTokens {
            let byte = source[position]
            let location = KamailioConfiguration.Location(file: file, line: line)
            switch byte {
            case UInt8(ascii: "\n"):
                line += 1
                position += 1
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): position += 1
            case UInt8(ascii: "#"):
                let end = source[position...].firstIndex(of: UInt8(ascii: "\n")) ?? source.count
                if at(position + 1) == UInt8(ascii: "!") {
                    directive(String(decoding: source[(position + 2)..<max(end, position + 2)], as: UTF8.self))
                }
                position = end
            case UInt8(ascii: "/") where at(position + 1) == byte:
                position = source[position...].firstIndex(of: UInt8(ascii: "\n")) ?? source.count
            case UInt8(ascii: "/") where at(position + 1) == UInt8(ascii: "*"):
                position += 2
                while position < source.count,
                    !(source[position] == UInt8(ascii: "*") && at(position + 1) == UInt8(ascii: "/"))
                {
                    if source[position] == UInt8(ascii: "\n") { line += 1 }
                    position += 1
                }
                position += 2
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                var value: [UInt8] = []
                position += 1
                while position < source.count, source[position] != byte {
                    if source[position] == UInt8(ascii: "\\"), position + 1 < source.count { position += 1 }
                    if source[position] == UInt8(ascii: "\n") { line += 1 }
                    value.append(source[position])
                    position += 1
                }
                position += 1
                string(String(decoding: value, as: UTF8.self), location, depth: depth, read: read)
            case _ where Self.isWordByte(byte):
                let end = source[position...].firstIndex { !Self.isWordByte($0) } ?? source.count
                word(String(decoding: source[position..<end], as: UTF8.self), location)
                position = end
            default:
                if !isSkipping {
                    tokens.append(Token(text: String(UnicodeScalar(byte)), isString: false, location: location))
                }
                position += 1
            }
        }
    }

    private mutating func word(_ text: String, _ location: KamailioConfiguration.Location) {
        guard !isSkipping else { return }
        guard let value = defines[text], !value.isEmpty else {
            return tokens.append(Token(text: text, isString: false, location: location))
        }
        let isQuoted = value.count > 1 && value.hasPrefix("\"") && value.hasSuffix("\"")
        tokens.append(
            Token(text: isQuoted ? String(value.dropFirst().dropLast()) : value, isString: isQuoted, location: location)
        )
    }

    private mutating func string(
        _ text: String, _ location: KamailioConfiguration.Location, depth: Int, read: (String) -> String?
    ) {
        guard !isSkipping else { return }
        guard let last = tokens.last, !last.isString, ["include_file", "import_file"].contains(last.text) else {
            return tokens.append(Token(text: text, isString: true, location: location))
        }
        tokens.removeLast()
        let directory = location.file.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/")
        let path = text.hasPrefix("/") || directory.isEmpty ? text : "\(directory)/\(text)"
        guard depth < Self.deepest, filesLeft > 0 else { return }
        guard let included = read(path) else {
            if last.text == "import_file" { missing.append((path, location)) }
            return
        }
        filesLeft -= 1
        take(included, file: path, depth: depth + 1, read: read)
    }

    /// What stands behind `#!`.
    private mutating func directive(_ text: String) {
        let parts = text.split(maxSplits: 2, whereSeparator: { $0 == " " || $0 == "\t" || $0 == "\r" })
        guard let command = parts.first else { return }
        let name = parts.count > 1 ? String(parts[1]) : ""
        switch command {
        case "ifdef": conditions.append(defines[name] != nil)
        case "ifndef": conditions.append(defines[name] == nil)
        case "ifexp": conditions.append(true)
        case "else": if let last = conditions.popLast() { conditions.append(!last) }
        case "endif": _ = conditions.popLast()
        case _ where isSkipping: break
        case _ where command.hasPrefix("trydef") && defines[name] != nil: break
        case "define", "redefine", "trydef", "trydefine", "def", "redef":
            let value = parts.count > 2 ? parts[2] : ""
            defines[name] = String(value.drop { $0 == " " || $0 == "\t" }.prefix { $0 != "\r" })
        case "undef": defines[name] = nil
        case "substdef", "substdefs":
            // "!NAME!value!g": the first character is the separator.
            let rule = text.drop { $0 != "\"" }.dropFirst().prefix { $0 != "\"" }
            guard let separator = rule.first else { return }
            let fields = rule.dropFirst().split(separator: separator, omittingEmptySubsequences: false)
            guard fields.count >= 2 else { return }
            defines[String(fields[0])] = command == "substdefs" ? "\"\(fields[1])\"" : String(fields[1])
        default: break
        }
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        byte >= 0x30 && byte <= 0x39 || (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A || byte == 0x5F || byte == 0x2E
    }
}
