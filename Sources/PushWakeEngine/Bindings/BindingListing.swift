// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore

/// The bindings that somebody asks for, with what is known of each.
struct BindingListing {
    private let conditions: ListingConditions
    private let outcomes: PushOutcomes
    /// Seconds since 1970.
    private let now: Int64

    init(_ conditions: ListingConditions, _ outcomes: PushOutcomes, now: Int64) {
        (self.conditions, self.outcomes, self.now) = (conditions, outcomes, now)
    }

    struct Row {
        let binding: Binding
        let record: WakeRecord
        /// Other users with its token.
        var others: [String] = []
        /// Empty while it is in use.
        var removed = ""

        fileprivate func isMeant(by conditions: ListingConditions, _ now: Int64) -> Bool {
            let verdict = ListingConditions.verdict(record.assessment.words, removed: removed)
            return conditions.admits(
                binding.provider, contact: binding.contact, age: max(0, now &- binding.registeredAt), verdict: verdict)
        }
    }

    /// Of one user that is named, those that are removed too.
    func rows(of user: String, in store: any BindingStore) throws(StoreError) -> [Row] {
        guard conditions.admits(user: user) else { return [] }
        var rows = try store.bindings(of: user, now: now).map {
            Row(binding: $0, record: outcomes.wakeRecords.record(of: $0))
        }
        if !conditions.aor.isEmpty {
            rows += try store.removed(of: user).map {
                Row(
                    binding: $0.binding, record: outcomes.wakeRecords.record(of: $0.binding), removed: $0.reason)
            }
        }
        return rows.filter { $0.isMeant(by: conditions, now) }
    }

    /// Removes those of the user that the conditions name; which went.
    func remove(in store: any BindingStore) throws(StoreError) -> [Binding] {
        var removed: [Binding] = []
        for row in try rows(of: conditions.aor, in: store) where row.removed.isEmpty {
            let (provider, app, token) = (row.binding.provider, row.binding.app, row.binding.token)
            removed += try store.remove(
                .token(provider: provider, app: app, token: token), of: conditions.aor, reason: "by hand", now: now)
        }
        return removed
    }
}
