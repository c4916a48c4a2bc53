// SPDX-License-Identifier: MIT

import PushWakeClient
import PushWakeCore

/// The newest request of `EngineQuery.trace` as facts about its phones.
struct WakingTrace {
    private(set) var events: [WakingFacts.Event] = []
    /// Shortened tokens by the request's phones.
    private(set) var tokens: [Int: String] = [:]
    /// The engine has heard of the end.
    private(set) var isOver = false

    /// Takes the rows in the order of the answer; a request's lines stand behind its header.
    init(_ rows: [[EngineField]]) {
        isOver = rows.first.map { !$0.word("end").isEmpty } ?? false
        for row in rows.dropFirst().prefix(while: { $0.first?.name == "at_ms" }) { take(row) }
    }

    private mutating func take(_ row: [EngineField]) {
        let phone = Int(row.number("phone"))
        guard phone > 0 else { return }
        if row.word("what") == "phone" {
            tokens[phone] = row.word("token")
        } else if let what = Self.what(row) {
            events.append(WakingFacts.Event(at: row.number("at_ms"), phone: phone, what))
        }
    }

    private static func what(_ row: [EngineField]) -> WakingFacts.Event.What? {
        switch row.word("what") {
        case "awake": return .awake
        case "not-pushable": return .notPushable
        case "not-pushed", "push-put-off": return .notPushed(row.word("text"))
        case "pushed": return isNotice(row) ? nil : .pushed
        case "push-ended":
            guard !isNotice(row), let outcome = Outcome.allCases.first(where: { $0.name == row.word("outcome") }) else {
                return nil
            }
            return .pushEnded(
                outcome, reason: row.word("reason"), httpStatus: Int(row.number("http_status")),
                milliseconds: row.number("ms"))
        case "registered": return .registered
        case "rung": return .rung
        case "answer": return .answered(Int(row.number("status")))
        case "leg-failed": return .failed(Int(row.number("status")))
        default: return nil
        }
    }

    /// It tells of an end, and wakes nobody for a request.
    private static func isNotice(_ row: [EngineField]) -> Bool {
        [PushEvent.cancel, .missed, .answeredElsewhere].contains { $0.name == row.word("event") }
    }
}
