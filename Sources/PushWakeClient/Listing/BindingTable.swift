// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// Bindings as a table that fits a screen of 100 characters: what is too long is cut, with `…` for what is missing.
public struct BindingTable {
    /// Characters of a line.
    public static let width = 100

    private struct Column {
        let title: String
        /// Cut where it says least: an app's name at its front.
        var cutsFront = false
        /// Characters that are left of the longest cell, in the first round and in the second.
        var floors: (first: Int, second: Int)
        var cells: [String] = []
    }

    private var columns = [
        Column(title: "aor", floors: (20, 12)),
        Column(title: "provider", floors: (15, 15)),
        Column(title: "app", cutsFront: true, floors: (8, 8)),
        Column(title: "token", floors: (13, 11)),
        Column(title: "age", floors: (6, 6)),
        Column(title: "verdict", floors: (30, 20)),
    ]
    /// Columns that most listings leave empty, and do not show then: where each registered, among nodes that share the
    /// bindings, and who has registered with the same token.
    private var rare = [Column(title: "node", floors: (16, 8)), Column(title: "shared_with", floors: (16, 8))]
    /// In which they are cut; rare ones stand last.
    private static let order = [2, 6, 7, 0, 5, 3, 1, 4]

    /// An empty table.
    public init() {}

    /// Nothing was added.
    public var isEmpty: Bool { columns[0].cells.isEmpty }

    /// Takes a row of the listing.
    public mutating func add(_ row: [EngineField]) {
        func text(_ name: String) -> String { row.first { $0.name == name }?.text ?? "" }
        let age = row.first { $0.name == "registered_ago" }?.number ?? 0
        let sandbox = text("environment") == "sandbox" ? ".dev" : ""
        let service = text("service").isEmpty ? "" : " \(text("service"))"
        let cells = [
            text("aor"), text("provider") + sandbox + service, text("app"), text("token"), Age(seconds: age).text,
            ListingConditions.verdict(text("verdict"), removed: text("removed")),
        ]
        for (index, cell) in cells.enumerated() { columns[index].cells.append(PrintableText.cleaned(cell)) }
        for index in rare.indices { rare[index].cells.append(PrintableText.cleaned(text(rare[index].title))) }
    }

    /// The title and a line for each row; none of them is longer than `width`.
    public var lines: [String] {
        let columns = columns + rare.filter { !$0.cells.allSatisfy(\.isEmpty) }
        let widths = Self.fitted(columns)
        return (-1..<columns[0].cells.count).map { row in
            var line = ""
            for (column, width) in zip(columns, widths) {
                let cell = Self.cut(row < 0 ? column.title : column.cells[row], to: width, atFront: column.cutsFront)
                if !line.isEmpty { line += "  " }
                line += cell + String(repeating: " ", count: max(0, width - cell.count))
            }
            return Self.trimmed(line)
        }
    }

    private static func fitted(_ columns: [Column]) -> [Int] {
        var widths = columns.map { column in column.cells.reduce(column.title.count) { max($0, $1.count) } }
        for round in 0..<2 {
            for index in order where index < columns.count {
                let over = widths.reduce(2 * (columns.count - 1), +) - width
                guard over > 0 else { return widths }
                let floor = round == 0 ? columns[index].floors.first : columns[index].floors.second
                widths[index] = max(min(widths[index], floor), widths[index] - over)
            }
        }
        return widths
    }

    private static func cut(_ text: String, to width: Int, atFront: Bool) -> String {
        guard text.count > width else { return text }
        return atFront ? "…" + text.suffix(width - 1) : text.prefix(width - 1) + "…"
    }

    private static func trimmed(_ text: String) -> String {
        var text = text
        while text.last == " " { text.removeLast() }
        return text
    }

    /// All that is known of one binding, a line for each column of the listing.
    public static func details(_ row: [EngineField]) -> [String] {
        let width = row.reduce(0) { max($0, $1.name.count) } + 2
        return row.map { field in
            let value = field.text.map(PrintableText.cleaned) ?? number(field)
            return trimmed(field.name + String(repeating: " ", count: width - field.name.count) + value)
        }
    }

    /// With its unit; -1 stands for what is not known.
    private static func number(_ field: EngineField) -> String {
        switch field.name {
        case _ where field.number < 0: "-"
        case "registered_ago", "last_push_ago", "last_wake_ago": "\(Age(seconds: field.number).text) ago"
        case "expires_in": Age(seconds: field.number).text
        case "wake_percent": "\(field.number) %"
        case "wake_ms": "\(field.number) ms"
        default: String(field.number)
        }
    }
}
