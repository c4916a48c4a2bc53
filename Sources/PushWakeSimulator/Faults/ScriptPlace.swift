// SPDX-License-Identifier: MIT

/// A place in a script's text, as an editor counts: lines and columns from 1.
struct ScriptPlace: Equatable {
    let line: Int
    let column: Int

    /// The place of a byte.
    init(of offset: Int, in text: [UInt8]) {
        let before = text.prefix(max(0, offset))
        line = before.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
        let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        // Bytes that go on with a character take no column.
        column = before[start...].reduce(1) { $1 & 0xC0 == 0x80 ? $0 : $0 + 1 }
    }

    /// The place of a member by its path, such as `rules[2].goaway.code`, or of the innermost part of the path that is there.
    init(ofMember path: Substring, in text: [UInt8]) {
        var steps: [JSONReader.Step] = []
        for part in path.split(separator: ".") {
            let name = part.prefix { $0 != "[" }
            if !(steps.isEmpty && name == "script") { steps.append(.name(String(name))) }
            if let index = Int(part.dropFirst(name.count + 1).prefix { $0 != "]" }) { steps.append(.index(index)) }
        }
        self.init(of: JSONReader.offset(of: steps, in: text), in: text)
    }
}
