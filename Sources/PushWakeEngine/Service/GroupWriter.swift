// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeStore
internal import PushWakeSystem

/// Writes refreshes and new users in groups, a moment after the first of them; tries until it works.
final class GroupWriter {
    /// Milliseconds between a registration and its group's way to the store, and between two attempts.
    private static let pause: Int64 = 1000

    private let store: BufferedStore
    private let access: StoreAccess
    private var loop: Loop { access.context.loop }
    /// Monotonic milliseconds since when registrations wait; nil when none do.
    private var waitSince: Int64?
    /// One timer at a time: groups that did not fit the queue have gone before theirs.
    private var isDue = false
    /// The last attempt failed, and that was said.
    private var hasFailed = false

    /// Writes for as long as this object lives.
    init(_ store: BufferedStore, _ access: StoreAccess) {
        self.store = store
        self.access = access
        store.onWaiting = { [weak self] in self?.writeSoon() }
    }

    /// Milliseconds for which the oldest registration has waited.
    var lag: Int64 { waitSince.map { max(0, loop.now - $0) } ?? 0 }

    /// Writes what waits. What fails stays in the journal, for the next attempt or the next engine.
    func write() {
        do throws(StoreError) {
            try store.flush()
            waitSince = nil
            hasFailed = false
        } catch {
            if !hasFailed {
                access.context.log(.error, "registrations wait in the journal until the store can be written: \(error)")
            }
            hasFailed = true
            access.failed(error)
            writeSoon()
        }
    }

    private func writeSoon() {
        waitSince = waitSince ?? loop.now
        guard !isDue else { return }
        isDue = true
        loop.schedule(after: Self.pause) { [weak self] in
            guard let self else { return }
            isDue = false
            write()
        }
    }
}
