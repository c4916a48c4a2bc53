// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// What a PBX's console wants of the engine, in words.
public struct ConsoleCommand: Equatable, Sendable {
    /// Why it was not carried out.
    public enum Failure: Error {
        /// What to write.
        case words(String)
        case engine(ClientError)
    }

    /// The first word.
    public enum Verb: String, CaseIterable, Sendable {
        case stats, list, show, remove, reload, trace, send

        /// What the engine is asked for it; nil for a push.
        var query: EngineQuery? {
            switch self {
            case .stats: .stats
            case .list, .show: .find
            case .remove: .removeFound
            case .reload: .reload
            case .trace: .trace
            case .send: nil
            }
        }
    }

    public let verb: Verb
    /// The others.
    public let words: [String]

    /// Takes what was written.
    public init(_ words: [String]) throws(Failure) {
        guard let verb = words.first.flatMap(Verb.init) else {
            throw .words("which command? write one of \(Verb.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self.verb = verb
        self.words = Array(words.dropFirst())
    }
}

/// The rows of an answer as lines for a console.
public struct ReportLines {
    /// Rows of a table that are put side by side: a PBX does not hold a whole listing in its memory.
    static let block = 256

    private let command: ConsoleCommand
    private var rows: [[EngineField]] = []
    private var count = 0
    private var hasTitle = false

    /// Has no rows yet.
    public init(_ command: ConsoleCommand) { self.command = command }

    /// Takes a row, and gives the lines that are ready.
    public mutating func take(_ row: [EngineField]) -> [String] {
        count += 1
        switch command.verb {
        case .stats: return row.map(Self.counter)
        case .show: return BindingTable.details(row) + [""]
        case .list, .trace:
            rows.append(row)
            return command.verb == .list && rows.count == Self.block ? table() : []
        case .reload: return row.map { "\($0.name): \(PrintableText.cleaned($0.shown))" }
        case .remove, .send: return []
        }
    }

    /// The lines that are left when there are no more rows; `number` is what the command returns.
    public mutating func end(_ number: Int) -> [String] {
        switch command.verb {
        case .list: (rows.isEmpty ? [] : table()) + [Self.plural(count, "binding")]
        case .show where count == 0: ["\(PrintableText.cleaned(command.words.first ?? "")) has no such push binding"]
        case .trace where rows.isEmpty: ["there was no request yet"]
        case .trace: TraceReport(rows).text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        case .remove: ["removed \(Self.plural(number, "binding"))"]
        case .send: ["\(Self.plural(number, "push", "es")) queued"]
        case .stats, .show, .reload: []
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

    private static func plural(_ number: Int, _ noun: String, _ ending: String = "s") -> String {
        "\(number) \(noun)\(number == 1 ? "" : ending)"
    }
}

extension EngineClient {
    /// Carries a command out, and gives its answer row by row and line by line. Returns the number of rows, for `remove` of
    /// bindings removed, for `send` of pushes queued. `onRow` returns false to stop.
    public func run(
        _ command: ConsoleCommand, onRow: ([EngineField]) -> Bool, onLine: (String) -> Void
    ) throws(ConsoleCommand.Failure) -> Int {
        var lines = ReportLines(command)
        var number: Int
        if let query = command.verb.query {
            let argument = try query.argument(command)
            var removed = 0
            number = try asking { () throws(ClientError) in
                try self.query(query, argument: argument) { row in
                    if query == .removeFound { removed = Int(clamping: row.first?.number ?? 0) }
                    for line in lines.take(row) { onLine(line) }
                    return onRow(row)
                }
            }
            if query == .removeFound { number = removed }
        } else {
            try SendWords(command.words).put(into: self)
            number = try asking { () throws(ClientError) in Int(clamping: Self.number(.pushed, in: try call())) }
        }
        for line in lines.end(number) { onLine(line) }
        return number
    }

    private func asking(_ body: () throws(ClientError) -> Int) throws(ConsoleCommand.Failure) -> Int {
        do throws(ClientError) {
            return try body()
        } catch {
            throw .engine(error)
        }
    }
}

extension EngineQuery {
    fileprivate func argument(_ command: ConsoleCommand) throws(ConsoleCommand.Failure) -> String {
        do throws(ListingConditions.Mistake) {
            return try argument(words: command.words)
        } catch {
            throw .words(error.message)
        }
    }
}
