// SPDX-License-Identifier: MIT

/// The trace of a request as a sequence picture: caller, PBX, push services and phones as columns, what went between them as
/// arrows with their times. The picture is for eyes; the page has the same lines as a list.
public struct SequencePicture: Equatable, Sendable {
    /// One line of the picture.
    public struct Step: Equatable, Sendable {
        /// Milliseconds since the request came.
        public let at: Int64
        /// Numbers of the columns; the same for a note on one column.
        public let from: Int
        public let to: Int
        public let label: String
        /// How it looks.
        public let kind: Kind
    }

    /// Kinds of lines; the raw values are classes of the stylesheet.
    public enum Kind: String, Sendable {
        case sip
        case push
        case good
        case bad
        case note
    }

    private static let columnWidth = 150
    private static let rowHeight = 34
    private static let margin = 110
    private static let top = 46
    private static let longestLabel = 34

    /// Names of the columns, from left to right.
    public private(set) var columns = ["caller", "PBX"]
    public private(set) var steps: [Step] = []

    /// Makes the picture of a trace.
    public init(_ trace: CallTrace) {
        let rows = trace.rows()
        var services: [String] = []
        var phones: [Int64] = []
        for row in rows {
            if let provider = Self.text("provider", row), !services.contains(provider) { services.append(provider) }
            if let phone = Self.number("phone", row), !phones.contains(phone) { phones.append(phone) }
        }
        columns += services + phones.sorted().map { "phone \($0)" }
        steps.append(Step(at: 0, from: 0, to: 1, label: trace.method, kind: .sip))
        for row in rows { add(row) }
    }

    private mutating func add(_ row: CallTrace.Row) {
        let at = Self.number("at_ms", row) ?? 0
        let phone = Self.number("phone", row).flatMap { columns.firstIndex(of: "phone \($0)") } ?? 1
        let service = Self.text("provider", row).flatMap { columns.firstIndex(of: $0) } ?? 1
        let status = Self.number("status", row) ?? 0
        let event = Self.text("event", row) ?? ""
        func step(_ from: Int, _ to: Int, _ label: String, _ kind: Kind) {
            steps.append(Step(at: at, from: from, to: to, label: label, kind: kind))
        }
        switch Self.text("what", row) {
        case "phone", "omitted": break
        case "pushed": step(1, service, "push (\(event))", .push)
        case "push-ended":
            let outcome = Self.text("outcome", row) ?? ""
            step(service, 1, "\(event): \(outcome)", outcome == Outcome.accepted.name ? .good : .bad)
        case "registered": step(phone, 1, "REGISTER", .sip)
        case "unregistered": step(phone, 1, "un-REGISTER", .sip)
        case "rung", "resent": step(1, phone, "INVITE", .sip)
        case "answer": step(phone, 1, String(status), status < 300 ? .good : .bad)
        case "leg-failed": step(1, phone, "no answer (\(status))", .bad)
        case "provisional": step(1, 0, String(status), .sip)
        case "ended": step(1, 0, Self.text("end", row) ?? "ended", Self.text("end", row) == "answered" ? .good : .bad)
        default: step(1, 1, Self.text("text", row) ?? "", .note)
        }
    }

    private static func text(_ name: String, _ row: CallTrace.Row) -> String? {
        guard case .text(let text)? = row.first(where: { $0.name == name })?.value else { return nil }
        return text
    }

    private static func number(_ name: String, _ row: CallTrace.Row) -> Int64? {
        guard case .number(let number)? = row.first(where: { $0.name == name })?.value else { return nil }
        return number
    }

    // MARK: Drawing

    /// Writes it as SVG; `title` is what a screen reader says of it.
    public func draw(_ title: String, into html: inout HTMLText) {
        let width = Self.margin + Self.columnWidth * columns.count
        let height = Self.top + Self.rowHeight * (steps.count + 1)
        html.markup("<svg class=\"sequence\" role=\"img\"")
        html.attribute("viewBox", "0 0 \(width) \(height)")
        html.attribute("width", String(width))
        html.attribute("height", String(height))
        html.attribute("aria-label", title)
        html.markup(">")
        for (index, column) in columns.enumerated() {
            let x = place(index)
            label(x, 20, column, "column", &html)
            line(x, 30, x, height - 10, "life", &html)
        }
        for (index, step) in steps.enumerated() { draw(step, Self.top + Self.rowHeight * (index + 1), &html) }
        html.markup("</svg>")
    }

    private func place(_ column: Int) -> Int { Self.margin + Self.columnWidth * column + Self.columnWidth / 2 - 40 }

    private func draw(_ step: Step, _ y: Int, _ html: inout HTMLText) {
        label(6, y, "+\(step.at) ms", "time", &html)
        let (start, end) = (place(step.from), place(step.to))
        let isLong = step.label.count > Self.longestLabel
        let shown = isLong ? step.label.prefix(Self.longestLabel - 1) + "…" : step.label
        guard step.from != step.to else {
            html.markup("<circle r=\"4\"")
            html.attribute("class", step.kind.rawValue)
            html.attribute("cx", String(start))
            html.attribute("cy", String(y - 4))
            html.markup("></circle>")
            return label(start + 10, y, shown, "note", &html)
        }
        line(start, y, end, y, step.kind.rawValue, &html)
        let tip = end > start ? -8 : 8
        html.markup("<path")
        html.attribute("class", step.kind.rawValue)
        html.attribute("d", "M\(end),\(y) l\(tip),-5 l0,10 z")
        html.markup("></path>")
        label((start + end) / 2, y - 6, shown, "label", &html)
    }

    private func line(_ x1: Int, _ y1: Int, _ x2: Int, _ y2: Int, _ style: String, _ html: inout HTMLText) {
        html.markup("<path")
        html.attribute("class", style)
        html.attribute("d", "M\(x1),\(y1) L\(x2),\(y2)")
        html.markup("></path>")
    }

    private func label(_ x: Int, _ y: Int, _ text: String, _ style: String, _ html: inout HTMLText) {
        html.markup("<text")
        html.attribute("class", style)
        html.attribute("x", String(x))
        html.attribute("y", String(y))
        html.markup(">")
        html.value(text)
        html.markup("</text>")
    }
}
