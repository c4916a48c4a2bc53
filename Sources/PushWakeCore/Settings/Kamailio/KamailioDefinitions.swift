// SPDX-License-Identifier: MIT

/// What the preprocessor of a kamailio.cfg puts in the place of names, and of parts of strings.
struct KamailioDefinitions {
    /// A rule of `#!subst`. Kamailio takes a regular expression; only one that stands for itself is known here.
    private struct Substitution {
        let pattern: [UInt8]
        let replacement: [UInt8]
        let isForAll: Bool

        /// The text as it is when it would become longer than `longest`.
        func applied(to text: [UInt8], longest: Int) -> [UInt8] {
            var result: [UInt8] = []
            var position = 0
            var isDone = false
            while position < text.count {
                if !isDone, text[position...].starts(with: pattern) {
                    guard result.count + replacement.count <= longest else { return text }
                    result += replacement
                    position += pattern.count
                    isDone = !isForAll
                } else {
                    result.append(text[position])
                    position += 1
                }
            }
            return result
        }
    }

    private var texts: [String: String] = [:]
    private var substitutions: [Substitution] = []
    private let environment: (String) -> String?
    private static let mostSubstitutions = 500
    private static let longestString = 65_536

    /// `defines` are those of Kamailio's `-A`, `environment` gives a variable's value.
    init(_ defines: [String], environment: @escaping (String) -> String?) {
        self.environment = environment
        for define in defines {
            let parts = define.split(separator: "=", maxSplits: 1)
            if let name = parts.first { texts[String(name)] = parts.count > 1 ? String(parts[1]) : "" }
        }
    }

    subscript(name: String) -> String? { texts[name] }

    /// Whether a directive is one of these; `arguments` is what stands behind its name.
    mutating func take(_ command: Substring, _ arguments: Substring) {
        let parts = arguments.split(maxSplits: 1) { $0 == " " || $0 == "\t" || $0 == "\r" || $0 == "\n" }
        let name = parts.first.map(String.init) ?? ""
        switch command {
        case "define", "redefine", "def", "redef", "trydef", "trydefine":
            guard !command.hasPrefix("try") || texts[name] == nil else { return }
            let value = parts.count > 1 ? parts[1] : ""
            texts[name] = String(value.drop { $0 == " " || $0 == "\t" }.prefix { $0 != "\r" && $0 != "\r\n" })
        case "undef", "undefine": texts[name] = nil
        case "defenv", "defenvs", "trydefenv", "trydefenvs":
            // NAME, or NAME=VARIABLE
            let sides = name.split(separator: "=", maxSplits: 1).map(String.init)
            guard let variable = sides.last, let value = environment(variable) else { return }
            texts[sides[0]] = command.hasSuffix("s") ? "\"\(value)\"" : value
        case "subst", "substdef", "substdefs": substitute(command, arguments)
        default: break
        }
    }

    /// "!NAME!value!g": the first character is the separator.
    private mutating func substitute(_ command: Substring, _ arguments: Substring) {
        let rule = arguments.drop { $0 != "\"" }.dropFirst().prefix { $0 != "\"" }
        guard let separator = rule.first else { return }
        let fields = rule.dropFirst().split(separator: separator, omittingEmptySubsequences: false)
        guard fields.count >= 2, !fields[0].isEmpty else { return }
        if command != "subst" {
            texts[String(fields[0])] = command == "substdefs" ? "\"\(fields[1])\"" : String(fields[1])
        }
        guard !fields[0].contains(where: { #"*+?[](){}|^$\"#.contains($0) }),
            substitutions.count < Self.mostSubstitutions
        else { return }
        substitutions.append(
            Substitution(
                pattern: Array(fields[0].utf8), replacement: Array(fields[1].utf8),
                isForAll: fields.count > 2 && fields[2].contains("g")))
    }

    /// A string of the file as Kamailio takes it.
    func replaced(in string: String) -> String {
        guard !substitutions.isEmpty else { return string }
        var bytes = Array(string.utf8)
        for substitution in substitutions {
            bytes = substitution.applied(to: bytes, longest: Self.longestString)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A value of `modparamx()`, with the `$def(NAME)` and `$env(NAME)` that are known.
    func expanded(_ value: String) -> String {
        var result = ""
        var rest = value[...]
        while let dollar = rest.firstIndex(of: "$") {
            result += rest[..<dollar]
            rest = rest[dollar...]
            guard let open = rest.firstIndex(of: "("), let close = rest[open...].firstIndex(of: ")") else { break }
            let name = String(rest[rest.index(after: open)..<close])
            let known: String? =
                switch rest[..<open] {
                case "$def", "$defn", "$defv": texts[name]
                case "$env", "$envn", "$envs": environment(name)
                default: nil
                }
            result += known ?? String(rest[...close])
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }
}
