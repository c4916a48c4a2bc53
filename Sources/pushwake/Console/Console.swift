// SPDX-License-Identifier: MIT

import Glibc
import PushWakeClient
import PushWakeCore
import PushWakeSystem

/// Standard output and standard error.
enum Console {
    static func say(_ text: String) {
        write(text + "\n", to: STDOUT_FILENO)
    }

    static func printError(_ text: String) {
        write("pushwake: \(text)\n", to: STDERR_FILENO)
    }

    static func write(_ text: String, to descriptor: Int32) { write(Array(text.utf8), to: descriptor) }

    /// Writes all bytes, waiting as long as it takes. What was asked for and cannot be written ends the command.
    static func write(_ bytes: [UInt8], to descriptor: Int32) {
        guard let error = Descriptor.write(bytes, to: descriptor), descriptor == STDOUT_FILENO else { return }
        printError("cannot \(error)")
        exit(1)
    }

    /// Rows as one JSON array, or as a table whose columns are as wide as they must be.
    static func show(_ rows: [[EngineField]], asJSON: Bool) {
        if asJSON {
            say("[" + rows.map(object).joined(separator: ",\n ") + "]")
            return
        }
        guard let first = rows.first else { return }
        let titles = first.map(\.name)
        let cells = [titles] + rows.map { row in row.map { $0.text.map(PrintableText.cleaned) ?? String($0.number) } }
        let widths = titles.indices.map { column in cells.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
        for row in cells {
            let line = zip(row, widths).map { $0 + String(repeating: " ", count: max(0, $1 - $0.count)) }
            say(trimmed(line.joined(separator: "  ")))
        }
    }

    /// One row as a JSON object.
    static func object(_ row: [EngineField]) -> String {
        var writer = JSONWriter()
        writer.object { object in
            for field in row {
                object.name(field.name)
                if let text = field.text { object.string(text) } else { object.integer(field.number) }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func trimmed(_ text: String) -> String {
        var text = text
        while text.last == " " { text.removeLast() }
        return text
    }
}
