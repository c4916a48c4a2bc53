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
        /// What should have come, and did not.
        case missing
    }

    /// What a phone or its push service owes.
    private struct Debt: Equatable {
        let from: Int
        let label: String
    }

    /// Names of the columns, from left to right.
    public private(set) var columns = ["caller", "PBX"]
    public private(set) var steps: [Step] = []
    /// Of each phone by its column, until it comes or the request ends.
    private var debts: [Int: Debt] = [:]

    private let method: String

    /// Makes the picture of a trace.
    public init(_ trace: CallTrace) {
        method = trace.method
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
        let what = Self.text("what", row) ?? ""
        if what == "ended" { addMissing(at) } else { note(what, row, phone, service) }
        switch what {
        case "phone", "omitted": break
        case "pushed": step(1, service, "push (\(event))", .push)
        case "push-ended":
            let outcome = Self.text("outcome", row) ?? ""
            let reason = Self.text("reason", row).map { " \($0)" } ?? ""
            step(service, 1, "\(event): \(outcome)\(reason)", outcome == Outcome.accepted.name ? .good : .bad)
        case "registered": step(phone, 1, "REGISTER", .sip)
        case "unregistered": step(phone, 1, "un-REGISTER", .sip)
        case "rung", "resent": step(1, phone, method, .sip)
        case "answer": step(phone, 1, String(status), status < 300 ? .good : .bad)
        case "leg-failed": step(phone, 1, "no answer (\(status))", .missing)
        case "provisional": step(1, 0, String(status), .sip)
        case "ended": step(1, 0, Self.text("end", row) ?? "ended", Self.text("end", row) == "answered" ? .good : .bad)
        default: step(1, 1, Self.text("text", row) ?? "", .note)
        }
    }

    /// A push is owed an answer, then a REGISTER, and a request an answer.
    private mutating func note(_ what: String, _ row: CallTrace.Row, _ phone: Int, _ service: Int) {
        let isNotice = [PushEvent.cancel, .missed, .answeredElsewhere].contains { $0.name == Self.text("event", row) }
        guard phone > 1, !isNotice else { return }
        switch what {
        case "pushed": debts[phone] = Debt(from: service, label: "no answer")
        case "push-ended" where Self.text("outcome", row) == Outcome.accepted.name:
            if debts[phone]?.from == service { debts[phone] = Debt(from: phone, label: "no REGISTER") }
        case "rung": debts[phone] = Debt(from: phone, label: "no answer")
        case "push-ended", "registered", "answer", "leg-failed": debts[phone] = nil
        default: break
        }
    }

    private mutating func addMissing(_ at: Int64) {
        for (_, debt) in debts.sorted(by: { $0.key < $1.key }) {
            steps.append(Step(at: at, from: debt.from, to: 1, label: debt.label, kind: .missing))
        }
        debts = [:]
    }

    private static func text(_ name: String, _ row: CallTrace.Row) -> String? {
        guard case .text(let text)? = row.first(where: { $0.name == name })?.value else { return nil }
        return text
    }

    private static func number(_ name: String, _ row: CallTrace.Row) -> Int64? {
        guard case .number(let number)? = row.first(where: { $0.name == name })?.value else { return nil }
        return number
    }
}
