// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// The rows of `EngineQuery.trace` as people read them, and as one JSON document.
public struct TraceReport {
    private struct Request {
        let header: [EngineField]
        var lines: [[EngineField]] = []

        func text(_ name: String) -> String { header.first { $0.name == name }?.text ?? "" }
        func number(_ name: String) -> Int64? { header.first { $0.name == name }?.number }
    }

    private var requests: [Request] = []

    /// Takes the rows in the order of the answer.
    public init(_ rows: [[EngineField]]) {
        for row in rows {
            // A line belongs to the request above it.
            if row.first?.name == "at_ms", !requests.isEmpty {
                requests[requests.count - 1].lines.append(row)
            } else {
                requests.append(Request(header: row))
            }
        }
    }

    /// A paragraph for each request.
    public var text: String { requests.map(paragraph).joined(separator: "\n\n") }

    /// An array of requests, the lines of each under `lines`.
    public var json: String {
        var writer = JSONWriter()
        writer.array { array in
            for request in requests {
                array.object { object in
                    Self.put(request.header, &object)
                    object.name("lines")
                    object.array { lines in
                        for line in request.lines { lines.object { Self.put(line, &$0) } }
                    }
                }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// What fits a screen of the newest requests.
    public var table: [[EngineField]] {
        let columns = ["started_ago", "method", "aor", "from", "end", "call_id", "summary"]
        return requests.map { request in columns.compactMap { name in request.header.first { $0.name == name } } }
    }

    private func paragraph(_ request: Request) -> String {
        let end = request.text("end")
        let time = request.number("end_ms").map { " after \($0) ms" } ?? ""
        let ending = end.isEmpty ? "not over yet" : end + time
        let from = request.text("from")
        let node = request.text("node")
        // Asterisk's dialplan knows none.
        let cseq = request.number("cseq").flatMap { $0 > 0 ? ", CSeq \($0)" : nil } ?? ""
        let head = [
            "\(request.text("method")) to \(request.text("aor"))\(from.isEmpty ? "" : " from \(from)"), "
                + "\(request.number("started_ago") ?? 0) s ago: \(ending)",
            "  Call-ID \(request.text("call_id"))\(cseq)\(node.isEmpty ? "" : ", at node \(node)")",
            "  \(request.text("summary"))",
        ]
        let remedy = request.text("remedy")
        return (head + (remedy.isEmpty ? [] : ["  Do: \(remedy)"]) + request.lines.map(Self.line)).joined(
            separator: "\n")
    }

    private static func line(_ fields: [EngineField]) -> String {
        let time = "+\(fields.first { $0.name == "at_ms" }?.number ?? 0) ms"
        let padding = String(repeating: " ", count: max(0, 12 - time.utf8.count))
        return "\(padding)\(time)  \(fields.first { $0.name == "text" }?.text ?? "")"
    }

    private static func put(_ fields: [EngineField], _ object: inout JSONWriter) {
        for field in fields {
            object.name(field.name)
            if let text = field.text { object.string(text) } else { object.integer(field.number) }
        }
    }
}
