// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// What a PBX's console shows of the engine; raw values are `enum pushwake_report_kind`.
public enum ConsoleReport: Int, Sendable {
    case stats = 0
    case bindings = 1
    case details = 2
    case trace = 3

    /// What the engine is asked for it.
    public var query: EngineQuery {
        switch self {
        case .stats: .stats
        case .bindings, .details: .find
        case .trace: .trace
        }
    }
}

/// The rows of an answer as lines for a console.
public struct ReportLines {
    /// Rows of a table that are put side by side: a PBX does not hold a whole listing in its memory.
    static let block = 256

    private let report: ConsoleReport
    private var rows: [[EngineField]] = []
    private var hasTitle = false

    /// Has no rows yet.
    public init(_ report: ConsoleReport) { self.report = report }

    /// Takes a row, and gives the lines that are ready.
    public mutating func take(_ row: [EngineField]) -> [String] {
        switch report {
        case .stats: return row.map(Self.counter)
        case .details: return BindingTable.details(row) + [""]
        case .bindings, .trace:
            rows.append(row)
            return report == .bindings && rows.count == Self.block ? table() : []
        }
    }

    /// The lines that are left when there are no more rows.
    public mutating func end() -> [String] {
        switch report {
        case .bindings where !rows.isEmpty: table()
        case .trace where rows.isEmpty: ["there was no request yet"]
        case .trace: TraceReport(rows).text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        default: []
        }
    }

    private mutating func table() -> [String] {
        var table = BindingTable()
        for row in rows { table.add(row) }
        let lines = table.lines.dropFirst(hasTitle ? 1 : 0)
        (rows, hasTitle) = ([], true)
        return Array(lines)
    }

    private static func counter(_ field: EngineField) -> String {
        let padding = String(repeating: " ", count: max(1, 33 - field.name.count))
        return field.name + padding + (field.text.map(PrintableText.cleaned) ?? String(field.number))
    }
}

extension EngineClient {
    /// Asks, and gives the answer line by line; returns the number of rows that it is made of.
    public func report(_ report: ConsoleReport, argument: String, onLine: (String) -> Void) throws(ClientError) -> Int {
        var lines = ReportLines(report)
        let count = try query(report.query, argument: argument) { row in
            for line in lines.take(row) { onLine(line) }
            return true
        }
        for line in lines.end() { onLine(line) }
        return count
    }
}
