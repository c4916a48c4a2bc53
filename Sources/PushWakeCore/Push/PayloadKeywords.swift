// SPDX-License-Identifier: MIT

/// Words in a template that look like keywords and are none.
public enum PayloadKeywords {
    /// Each `<name>` that nobody knows, and each upper-case word that is nearly one of Mizutech's: it goes out as it
    /// stands. Other upper-case words may well be meant, such as the name of an action.
    public static func unknown(in template: [UInt8]) -> [PayloadTemplateError] {
        let source = TemplateText.withoutTail(template)
        var found: [PayloadTemplateError] = []
        var index = 0
        var isInString = false
        while index < source.count {
            let byte = source[index]
            defer { index += 1 }
            if byte == UInt8(ascii: "\\"), isInString {
                index += 1
                continue
            }
            if byte == UInt8(ascii: "\"") { isInString.toggle() }
            if let (_, length) = TemplateText.keyword(in: source, at: index) {
                index += length - 1
                continue
            }
            if let name = bracketed(in: source, at: index) {
                found.append(error("<\(name)>", PayloadField.names.map(\.name), name, { "<\($0)>" }, index, source))
                index += name.utf8.count + 1
                continue
            }
            let length = TemplateText.wordLength(in: source, at: index)
            guard length > 0 else { continue }
            let word = String(decoding: source[index..<(index + length)], as: UTF8.self)
            if word.utf8.count > 3, PayloadField.words.contains(where: { EditDistance.between($0.name, word) == 1 }) {
                found.append(error(word, PayloadField.words.map(\.name), word, { $0 }, index, source))
            }
            index += length - 1
        }
        return found
    }

    /// What stands between angle brackets and could be a name.
    private static func bracketed(in source: [UInt8], at index: Int) -> String? {
        guard source[index] == UInt8(ascii: "<") else { return nil }
        let name = source[(index + 1)...].prefix { $0 >= 0x61 && $0 <= 0x7A || $0 == UInt8(ascii: "-") }
        guard !name.isEmpty, name.count <= 32, name.endIndex < source.endIndex,
            source[name.endIndex] == UInt8(ascii: ">")
        else { return nil }
        return String(decoding: name, as: UTF8.self)
    }

    private static func error(
        _ text: String, _ known: [String], _ word: String, _ written: (String) -> String, _ index: Int,
        _ source: [UInt8]
    ) -> PayloadTemplateError {
        let near = known.min { EditDistance.between($0, word) < EditDistance.between($1, word) }
        let hint = near.flatMap { EditDistance.between($0, word) <= 3 ? "; did you mean \(written($0))?" : nil }
        return PayloadTemplateError(
            "\(text) is no keyword and goes out as it stands\(hint ?? "; docs/payloads.md lists them all")", at: index,
            in: source)
    }
}
