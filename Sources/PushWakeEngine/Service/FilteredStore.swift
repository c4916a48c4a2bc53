// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeStore

/// A store whose users are in a filter before their bindings are kept: whoever writes to it, none is forgotten.
final class FilteredStore: BindingStore {
    private let store: any BindingStore
    private let filter: BindingFilterPublisher

    init(_ store: any BindingStore, _ filter: BindingFilterPublisher) {
        self.store = store
        self.filter = filter
    }

    func keep(_ bindings: [Binding], now: Int64) throws(StoreError) -> KeptRegistration? {
        // ORDER: before the store, so that no binding is ever without its bits.
        if let aor = bindings.first?.aor { filter.insert(aor) }
        return try store.keep(bindings, now: now)
    }

    func remove(
        _ selector: BindingSelector, of aor: String, reason: String, now: Int64
    ) throws(StoreError) -> [Binding] {
        let removed = try store.remove(selector, of: aor, reason: reason, now: now)
        filter.noteRemovals(removed.count)
        return removed
    }

    func forget(now: Int64, limit: Int) throws(StoreError) -> Int {
        let forgotten = try store.forget(now: now, limit: limit)
        filter.noteRemovals(forgotten)
        return forgotten
    }

    func bindings(of aor: String, now: Int64) throws(StoreError) -> [Binding] {
        try store.bindings(of: aor, now: now)
    }

    func endRegistrations(_ selector: BindingSelector, of aor: String, now: Int64) throws(StoreError) {
        try store.endRegistrations(selector, of: aor, now: now)
    }

    func clockJumped(from old: Int64, to new: Int64) throws(StoreError) { try store.clockJumped(from: old, to: new) }

    func removed(of aor: String) throws(StoreError) -> [RemovedBinding] { try store.removed(of: aor) }

    func restore(
        of aor: String, now: Int64, where isMeant: (RemovedBinding) -> Bool
    ) throws(StoreError) -> [RemovedBinding] {
        // ORDER: as in `keep`.
        filter.insert(aor)
        return try store.restore(of: aor, now: now, where: isMeant)
    }

    func users(
        removedSince time: Int64, after cursor: String, limit: Int
    ) throws(StoreError) -> (aors: [String], next: String?) {
        try store.users(removedSince: time, after: cursor, limit: limit)
    }

    func noteAccepted(_ bindings: [Binding], at now: Int64) throws(StoreError) {
        try store.noteAccepted(bindings, at: now)
    }

    func users(withTokensOf bindings: [Binding]) throws(StoreError) -> [[String]] {
        try store.users(withTokensOf: bindings)
    }

    func ending(
        after cursor: ExpiryCursor, by end: Int64, refreshingThemselves: Bool, limit: Int
    ) throws(StoreError) -> EndingPage {
        try store.ending(after: cursor, by: end, refreshingThemselves: refreshingThemselves, limit: limit)
    }

    func learnEnds(limit: Int) throws(StoreError) -> Bool { try store.learnEnds(limit: limit) }

    func aors(after cursor: String, limit: Int, now: Int64) throws(StoreError) -> [String] {
        try store.aors(after: cursor, limit: limit, now: now)
    }

    func purr(of binding: Binding, now: Int64, fresh: () -> PURR) throws(StoreError) -> PURR? {
        try store.purr(of: binding, now: now, fresh: fresh)
    }

    func bindings(ofPURR purr: PURR, now: Int64) throws(StoreError) -> [Binding] {
        try store.bindings(ofPURR: purr, now: now)
    }

    func count() throws(StoreError) -> Int { try store.count() }

    func tryWriting() throws(StoreError) { try store.tryWriting() }

    func together<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try store.together(body)
    }
}
