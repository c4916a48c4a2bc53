// SPDX-License-Identifier: MIT

import PushWakeCore

/// A question about one user on its way through the store, whatever its answer is.
final class ValkeyQuestion {
    /// What it does on the server.
    enum Kind: Equatable {
        /// Reads, and writes what has changed.
        case ask
        /// The same for a request, which is named and may be held for so many seconds.
        case hold(claim: String, seconds: Int64)
        /// The same for requests that are held already.
        case holdAgain(seconds: Int64)
    }

    let aor: String
    let kind: Kind
    /// Seconds since 1970, of the question.
    let now: Int64
    let announcement: () -> [UInt8]?
    /// Asks the bindings; keeps the answer for `finish`.
    let run: (MemoryStore) throws(StoreError) -> Void
    /// Tells the answer, or the failure; the state belongs to `hold`.
    let finish: (_ failure: StoreError?, HoldState) -> Void
    /// It is kept later when it fails.
    var keepsTrying: Bool
    /// It has failed before: what came later from the same device stays.
    var isLate = false
    var isOver = false
    var state = HoldState()
    /// It is only read, since the server takes no writes.
    var isPlain = false
    /// How often another node was faster.
    var conflicts = 0

    init(
        aor: String, kind: Kind = .ask, now: Int64, announcement: @escaping () -> [UInt8]? = { nil },
        keepsTrying: Bool = false,
        run: @escaping (MemoryStore) throws(StoreError) -> Void,
        finish: @escaping (_ failure: StoreError?, HoldState) -> Void
    ) {
        self.aor = aor
        self.kind = kind
        self.now = now
        self.announcement = announcement
        self.keepsTrying = keepsTrying
        self.run = run
        self.finish = finish
    }

    /// The same once more, for nobody who waits.
    func again(finish: @escaping (StoreError?) -> Void) -> ValkeyQuestion {
        let copy = ValkeyQuestion(
            aor: aor, kind: kind, now: now, announcement: announcement, run: run,
            finish: { failure, _ in finish(failure) })
        copy.isLate = true
        return copy
    }
}
