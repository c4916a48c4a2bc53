// SPDX-License-Identifier: MIT

internal import PushWakeCore
private import PushWakeSystem

/// What can be asked of a running engine; raw values go over the wire.
public enum EngineQuery: Int, Sendable {
    case stats = 0
    case bindings = 1
    case reload = 3
    case trace = 4
    /// The bindings that `ListingConditions` name.
    case find = 5
    /// Removes them; the conditions name one user.
    case removeFound = 6
    /// Bindings as lines of JSON that another store can take; the argument `secrets` has their tokens whole. Only the shell
    /// asks it.
    case export = 17
    /// Brings removed bindings back; the argument is that of `RestoreConditions`. Only the shell asks it.
    case restore = 20
    /// The nodes that share the store. Only the shell asks it.
    case nodes = 18
    /// What a request would push to a user; only the shell asks it (`explain(aor:…)`).
    case explain = 16
    /// How each step on the way of a call to a user fares; only the shell asks it.
    case diagnose = 19

    /// The argument that words of a person make: conditions of a listing, else one word at most.
    public func argument(words: [String]) throws(ListingConditions.Mistake) -> String {
        if self == .find || self == .removeFound { return try ListingConditions.lines(words: words) }
        if let more = words.dropFirst().first {
            throw ListingConditions.Mistake(
                message: "\"\(PrintableText.cleaned(String(more.prefix(80))))\" is one word too many")
        }
        return words.first ?? ""
    }
}

extension EngineClient {
    /// Asks page by page, so that no answer is longer than a message; returns the number of rows.
    /// `onRow` returns false to stop; `onPage` hears of each page, also of one where nothing was found. `isPrompt` is for who
    /// must not wait longer than `engine_timeout`, as for a call.
    public func query(
        _ query: EngineQuery, argument: String, isPrompt: Bool = false, onPage: () -> Void = {},
        onRow: ([EngineField]) -> Bool
    ) throws(ClientError) -> Int {
        var cursor = ""
        var rows = 0
        while true {
            let page = try self.page(query, argument: argument, after: cursor, isPrompt: isPrompt)
            for row in page.rows {
                rows &+= 1
                guard onRow(row) else { return rows }
            }
            onPage()
            guard let next = page.cursor, next != cursor else { return rows }
            cursor = next
        }
    }

    /// Users with bindings whose names begin so, as many as are found within so many milliseconds, in order. The beginning has
    /// no `*` and no `?`.
    public func users(beginning: String, milliseconds: Int64) -> [String] {
        let end = SystemClock.monotonicMilliseconds() &+ milliseconds
        var names: Set<String> = []
        // A file of bindings has users in order, and goes on behind this one.
        var cursor = beginning.isEmpty ? "" : "\(beginning) 0"
        while let page = try? page(.find, argument: "user=\(beginning)*\n", after: cursor, isPrompt: true) {
            for row in page.rows { if let name = row.first(where: { $0.name == "aor" })?.text { names.insert(name) } }
            guard let next = page.cursor, SystemClock.monotonicMilliseconds() < end else { break }
            cursor = next
        }
        return names.sorted()
    }

    private func page(
        _ query: EngineQuery, argument: String, after cursor: String, isPrompt: Bool
    ) throws(ClientError) -> Page {
        begin(.query)
        put(.query, Int64(query.rawValue))
        put(.argument, argument)
        put(.cursor, cursor)
        return Page(try call(milliseconds: isPrompt ? nil : 5000))
    }

    /// The bindings of a user that can be pushed, and how many there are: one that is gone is listed too, with the reason,
    /// until its phone registers again.
    public func bindings(of aor: String, isPrompt: Bool = false, onRow: ([EngineField]) -> Void) throws(ClientError)
        -> Int
    {
        var count = 0
        _ = try query(.bindings, argument: aor, isPrompt: isPrompt) { row in
            guard row.contains(where: { $0.name == "removed" && $0.text == "" }) else { return true }
            count &+= 1
            onRow(row)
            return true
        }
        return count
    }

    /// Waits until an engine answers; false when none has in that time. For the start of a host, which is in no hurry.
    public func awaitEngine(milliseconds: Int64) -> Bool {
        let end = SystemClock.monotonicMilliseconds() &+ max(0, milliseconds)
        while true {
            begin(.query)
            put(.query, Int64(EngineQuery.stats.rawValue))
            put(.argument, "")
            put(.cursor, "")
            let left = end &- SystemClock.monotonicMilliseconds()
            if (try? call(milliseconds: max(1, left))) != nil { return true }
            guard left > 0 else { return false }
            SystemClock.wait(milliseconds: 10)
        }
    }

    /// The rows of a reply.
    public static func rows(of reply: MessageReader) -> [[EngineField]] { Page(reply).rows }

    /// Where the next page of a reply begins; nil on the last one.
    public static func cursor(of reply: MessageReader) -> String? { Page(reply).cursor }

    private struct Page {
        var rows: [[EngineField]] = []
        /// Nil on the last page.
        var cursor: String?

        init(_ reply: MessageReader) {
            var reader = reply
            var name = ""
            while let field = reader.next() {
                switch field.tag {
                case .row: rows.append([])
                case .name: name = reader.text(field)
                case .text: add(EngineField(name: name, text: reader.text(field), number: 0))
                case .number: add(EngineField(name: name, text: nil, number: reader.number(field)))
                case .cursor: cursor = reader.text(field)
                default: break
                }
            }
        }

        private mutating func add(_ field: EngineField) {
            guard !rows.isEmpty else { return }
            rows[rows.count - 1].append(field)
        }
    }
}

/// One value of an answer.
public struct EngineField: Equatable, Sendable {
    /// Column or counter, such as `provider`.
    public let name: String
    /// Nil when the value is `number`.
    public let text: String?
    /// 0 when the value is `text`.
    public let number: Int64

    /// The value as people read it.
    public var shown: String { text ?? String(number) }
}

/// The time for those who may not see the transport layer.
public enum Moment {
    /// Milliseconds since some point in the past.
    public static func now() -> Int64 { SystemClock.monotonicMilliseconds() }
}
