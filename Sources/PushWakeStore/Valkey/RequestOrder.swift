// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// Which questions to a store that answers later may go now: those about one user one after the other, in the order in
/// which they came; those about different users at the same time. How many wait is bounded, and so is how long.
///
/// Pure: it knows numbers, not questions.
struct RequestOrder: ~Copyable {
    /// What becomes of a question that comes.
    enum Admission: Equatable {
        /// It goes now.
        case go
        /// It goes when `ended` says so.
        case wait
        /// Too many are under way.
        case refuse
    }

    private struct Question {
        let user: [UInt8]
        let deadline: Int64
    }

    private let most: Int
    private var questions: [UInt64: Question] = [:]
    /// The first of each is under way.
    private var users: [[UInt8]: [UInt64]] = [:]
    /// In the order in which they end. All have the same time, so that is the order in which they came.
    private var deadlines = RingBuffer<(at: Int64, id: UInt64)>()

    /// At most so many at once.
    init(most: Int) { self.most = max(most, 1) }

    var count: Int { questions.count }

    /// A question comes. Deadlines must not go back from one to the next.
    mutating func add(_ id: UInt64, about user: [UInt8], deadline: Int64) -> Admission {
        guard questions.count < most else { return .refuse }
        questions[id] = Question(user: user, deadline: deadline)
        deadlines.append((deadline, id))
        users[user, default: []].append(id)
        return users[user]?.count == 1 ? .go : .wait
    }

    /// A question has its answer, or needs none any more; gives the one that goes in its place.
    mutating func ended(_ id: UInt64) -> UInt64? {
        guard let question = questions.removeValue(forKey: id), var line = users[question.user] else { return nil }
        let wasFirst = line.first == id
        line.removeAll { $0 == id }
        users[question.user] = line.isEmpty ? nil : line
        return wasFirst ? line.first : nil
    }

    /// Questions whose time is over at `now`, the oldest first. `ended` is to be called for each.
    mutating func expired(now: Int64) -> [UInt64] {
        var over: [UInt64] = []
        while let first = deadlines.first, first.at <= now {
            if questions[first.id] != nil { over.append(first.id) }
            _ = deadlines.popFirst()
        }
        return over
    }

    /// When `expired` has something to say.
    mutating func nextDeadline() -> Int64? {
        while let first = deadlines.first, questions[first.id] == nil { _ = deadlines.popFirst() }
        return deadlines.first?.at
    }
}
