// SPDX-License-Identifier: MIT

/// What a setting of kind `textOrFile` holds: a text, or in its place `@/path`, the file that has it.
public enum TextOrFile: Equatable, Sendable {
    case text(Substring)
    /// The path, which begins with a slash.
    case file(String)

    /// Reads a value, or a part of one; white space around a file's name is left out.
    public init(_ written: Substring) {
        var name = written.drop { $0 == " " || $0 == "\t" }
        while let last = name.last, last == " " || last == "\t" { name.removeLast() }
        self = name.hasPrefix("@/") ? .file(String(name.dropFirst())) : .text(written)
    }

    /// Nil for a text.
    public var path: String? { if case .file(let path) = self { path } else { nil } }
}

extension Settings {
    /// The parts of `webhook_headers`: header fields, and files with a field a line.
    public var webhookHeaders: [TextOrFile] { text(.webhookHeaders).split(separator: "|").map { TextOrFile($0) } }

    /// The template in `webhook_body`.
    public var webhookBody: TextOrFile { TextOrFile(text(.webhookBody)[...]) }

    /// The files that these two name.
    public var webhookFiles: [String] { (webhookHeaders + [webhookBody]).compactMap(\.path) }
}
