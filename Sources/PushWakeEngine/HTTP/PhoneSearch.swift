// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// Looks for bindings, page by page as the engine gives them, until there are enough for a page of the browser's.
final class PhoneSearch {
    /// Milliseconds after which the reader decides whether to look on.
    private static let longest: Int64 = 2000

    private let questions: EngineQuestions
    private let loop: Loop
    private let conditions: ListingConditions
    private let most: Int
    private let began = SystemClock.monotonicMilliseconds()
    private var phones: [PagePhone] = []

    init(_ questions: EngineQuestions, _ conditions: ListingConditions, most: Int, on loop: Loop) {
        (self.questions, self.conditions, self.most, self.loop) = (questions, conditions, most, loop)
    }

    /// Gives what it has found, where to go on (nil at the end), and why it could not look; empty when it could.
    func run(from cursor: String, _ done: @escaping ([PagePhone], String?, String) -> Void) {
        questions.ask(.find, conditions.lines, cursor: cursor) { [self] reply in
            switch reply {
            case .failure(let text, _): done(phones, nil, text)
            case .answer(let message):
                phones += EngineClient.rows(of: message).map(Self.phone)
                let next = EngineClient.cursor(of: message)
                guard let next, phones.count < most, SystemClock.monotonicMilliseconds() - began < Self.longest else {
                    return done(phones, next, "")
                }
                // The engine is in the middle of its answer.
                loop.schedule(after: 0) { [self] in run(from: next, done) }
            }
        }
    }

    private static func phone(_ row: [EngineField]) -> PagePhone {
        func text(_ name: String) -> String { row.first { $0.name == name }?.text ?? "" }
        func seconds(_ name: String) -> Int64? {
            row.first { $0.name == name }.flatMap { $0.number < 0 ? nil : $0.number }
        }
        return PagePhone(
            user: text("aor"), service: "\(text("provider")) \(text("app"))", token: text("token"),
            registeredAgo: seconds("registered_ago") ?? 0, pushedAgo: seconds("last_push_ago"),
            wokeAgo: seconds("last_wake_ago"),
            verdict: ListingConditions.verdict(text("verdict"), removed: text("removed")))
    }
}
