// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// A REGISTER that the store of this process could not take.
struct LateRegister {
    let message: MessageReader
    /// Monotonic milliseconds.
    let cameAt: Int64
}

/// REGISTERs that come while the store of this process takes no changes: a disk is full, or another process holds the lock.
/// Their phones have a 200 and sleep, so nobody can reach them until they register again. They are kept here
/// (10,000 of them), and stored when the store takes changes again; a shared store does the same by itself.
extension Registrations {
    /// Users of whom some are stored in one turn.
    private static let latePerTurn = 64

    /// Stores a REGISTER that has just come, after all that the user's phones said before.
    func keepNow(_ message: MessageReader, of aor: String, _ keep: (any BindingStore) throws(StoreError) -> Kept)
        -> Result<Kept, StoreError>
    {
        var result: Result<Kept, StoreError>
        if late.count > 0, late.hasAny(of: aor), let error = storeLate(late.take(of: aor)) {
            result = .failure(error)
        } else {
            result = store.askOwn(keep)
        }
        if case .failure(let error) = result, error.mayPass { waitForStore(message, of: aor) }
        return result
    }

    private func waitForStore(_ message: MessageReader, of aor: String) {
        let entry = LateRegister(message: message, cameAt: SystemClock.monotonicMilliseconds())
        guard !late.keep(entry, of: aor) else { return }
        store.logFailure(
            "\(late.count) REGISTERs wait for the store, and there is no room for more: \(PrintableText.logValue(aor)) gets no push until its phone registers again"
        )
    }

    /// Asks a store that has failed whether it takes changes again: nobody else may ask it.
    func lookAtStore() {
        store.retryClockJump()
        guard store.fault != nil else { return }
        do throws(StoreError) {
            try store.own.tryWriting()
            // There may be room for a page, and none for a binding.
            guard storeNextLate() == nil else { return }
            store.fault = nil
            context.log(.notice, "the store can be written again")
            storeAllLate()
        } catch {
            store.failed(error)
        }
    }

    /// REGISTERs that the store has not taken yet.
    var registersWaiting: Int { store.shared?.backlog ?? late.count }

    /// Stores the REGISTERs of the user who waits longest; nil when that worked, or nobody waits.
    func storeNextLate() -> StoreError? { storeLate(late.take()) }

    /// Stores those of all who wait, some in each turn.
    func storeAllLate() {
        guard late.count > 0 else { return }
        for _ in 0..<Self.latePerTurn where storeNextLate() != nil { return }
        guard late.count > 0 else { return context.log(.notice, "all REGISTERs that waited are stored") }
        context.loop.schedule(after: 1) { [weak self] in self?.storeAllLate() }
    }

    /// Why they cannot be stored yet, and wait again; nil when they are stored.
    private func storeLate(_ taken: [RegisterBacklog<LateRegister>.Taken]) -> StoreError? {
        for (index, one) in taken.enumerated() {
            let (registration, granted, host) = read(one.entry.message)
            // By its age: the clock may have been put right meanwhile.
            let age = (SystemClock.monotonicMilliseconds() &- one.entry.cameAt) / 1000
            let result = store.askOwn { (store) throws(StoreError) in
                try keep(registration, granted, host, in: store, SystemClock.wallSeconds() &- age)
            }
            switch result {
            case .success(let kept):
                // Requests that are held have been told of the phone when it came.
                requests.dispatch(settle(registration, kept))
                noteClaims(kept.bound.newTokens, alsoNoting: kept.bound.dueTokens)
            case .failure(let error) where error.mayPass:
                for left in taken[index...] { late.putBack(left) }
                return error
            case .failure(let error): context.log(.error, "a REGISTER that waited cannot be stored: \(error)")
            }
        }
        return nil
    }
}

extension StoreError {
    /// The same may work later.
    fileprivate var mayPass: Bool {
        if case .corrupt = self { false } else { true }
    }
}
