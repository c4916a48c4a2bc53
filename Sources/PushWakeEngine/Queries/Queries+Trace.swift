// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

extension Queries {
    /// Requests in one answer.
    private static let tracesPerAnswer = 20
    /// Bytes after which a page takes no further row of its kind: the longest trace fits behind it.
    static let pageBytes = 64 * 1024

    /// Tells the traces of a Call-ID or an AoR, or lists the newest requests.
    func trace(_ question: Question, _ argument: String, after cursor: String) {
        let isList = argument.isEmpty
        var left = Self.tracesPerAnswer
        var found = isList ? context.traces.newest(left) : context.traces.find(argument, limit: left)
        if found.isEmpty && !isList { return failTrace(question, argument) }
        if let place = Page(cursor) {
            // Younger ones have come meanwhile; the answer goes on where the page before ended.
            found =
                isList
                ? context.traces.newest(TraceRing.capacity) : context.traces.find(argument, limit: TraceRing.capacity)
            found.removeAll { $0.sequence >= place.last }
            left = min(place.left, left)
        }
        let now = SystemClock.monotonicMilliseconds()
        // Who held them: a trace is told by the node where the request was.
        let node: CallTrace.Row = store.shared == nil ? [] : [("node", .text(NodeName.of(context.settings)))]
        question.reply { writer in
            for id in found.prefix(left) {
                guard let trace = context.traces.trace(of: id) else { continue }
                Self.put(trace.header(now: now) + node, &writer)
                if !isList { for row in trace.rows() { Self.put(row, &writer) } }
                left -= 1
                if writer.bytes.count > Self.pageBytes && left > 0 {
                    return writer.put(.cursor, Page(last: id.sequence, left: left).text)
                }
            }
        }
    }

    /// Says what is known of a name without a request.
    private func failTrace(_ question: Question, _ name: String) {
        // The name is not repeated: a Call-ID may be longer than what an RPC can say.
        var text = "none of the last \(context.traces.count) requests has this Call-ID or is for this user"
        store.ask(about: name) { (store) throws(StoreError) in
            try store.bindings(of: name, now: SystemClock.wallSeconds())
        } then: { result in
            if (try? result.get())?.isEmpty == true { text += ", and there is no push binding of such a user" }
            question.fail(text, isMissing: true)
        }
    }

    private static func put(_ row: CallTrace.Row, _ writer: inout MessageWriter) {
        writer.put(.row, 1)
        for field in row {
            switch field.value {
            case .text(let text): writer.column(field.name, text)
            case .number(let number): writer.column(field.name, number)
            }
        }
    }

    /// Where the next page of a trace begins.
    private struct Page {
        /// The last request that was told.
        let last: UInt64
        /// Requests that may follow.
        let left: Int

        init(last: UInt64, left: Int) {
            self.last = last
            self.left = left
        }

        init?(_ cursor: String) {
            let parts = cursor.split(separator: " ")
            guard parts.count == 2, let last = UInt64(parts[0]), let left = Int(parts[1]) else { return nil }
            self.init(last: last, left: max(left, 0))
        }

        var text: String { "\(last) \(left)" }
    }
}
