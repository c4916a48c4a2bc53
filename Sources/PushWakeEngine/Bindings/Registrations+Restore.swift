// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Brings removed bindings back that an operator names (`pushwake bindings restore`).
extension Registrations {
    /// Users that a store of this process looks at before others have a turn, and those that a shared one is asked about.
    private static let usersPerPage = 500
    private static let sharedUsersPerPage = 20
    private static let pageMicroseconds: Int64 = 1000
    private static let rowsPerPage = 64

    /// Answers with a row for each binding, page by page: a page that was told has been restored.
    func restore(_ question: Question, _ lines: String, after cursor: String) {
        let conditions: RestoreConditions
        do throws(ListingConditions.Mistake) {
            conditions = try RestoreConditions(lines: lines)
        } catch {
            return question.fail(error.message)
        }
        guard store.shared == nil else { return sharedRestore(question, conditions, after: cursor) }
        pages.add { [weak self] in
            guard let self, question.isAwaited else { return }
            switch store.askOwn({ [self] (store) throws(StoreError) in try page(conditions, after: cursor, in: store) })
            {
            case .success(let page): tell(page, question, conditions)
            case .failure(let error): question.fail(error)
            }
        }
    }

    /// What came back, and behind which user to go on; nil after the last.
    private typealias RestorePage = (rows: [RemovedBinding], next: String?)

    private func page(
        _ conditions: RestoreConditions, after cursor: String, in store: any BindingStore
    ) throws(StoreError) -> RestorePage {
        let now = SystemClock.wallSeconds()
        guard conditions.listing.aor.isEmpty else {
            return (try restored(conditions.listing.aor, conditions, now, in: store), nil)
        }
        let end = SystemClock.monotonicMicroseconds() + Self.pageMicroseconds
        var (rows, place): ([RemovedBinding], String) = ([], cursor)
        while true {
            let (users, next) = try store.users(
                removedSince: now &- conditions.since, after: place, limit: Self.usersPerPage)
            for user in users where conditions.listing.admits(user: user) {
                rows += try restored(user, conditions, now, in: store)
                place = user
                guard rows.count < Self.rowsPerPage, SystemClock.monotonicMicroseconds() <= end else {
                    return (rows, place)
                }
            }
            guard let next else { return (rows, nil) }
            place = next
            if SystemClock.monotonicMicroseconds() > end { return (rows, place) }
        }
    }

    private func restored(
        _ aor: String, _ conditions: RestoreConditions, _ now: Int64, in store: any BindingStore
    ) throws(StoreError) -> [RemovedBinding] {
        func isMeant(_ tombstone: RemovedBinding) -> Bool {
            conditions.admits(tombstone.binding, reason: tombstone.reason, removedAt: tombstone.removedAt, now: now)
        }
        return conditions.isDry
            ? try store.restorable(of: aor, now: now, where: isMeant)
            : try store.restore(of: aor, now: now, where: isMeant)
    }

    private func sharedRestore(_ question: Question, _ conditions: RestoreConditions, after cursor: String) {
        guard conditions.listing.aor.isEmpty else {
            return sharedRestore([conditions.listing.aor], next: nil, question, conditions)
        }
        store.shared?.users(after: cursor, beginning: "", limit: Self.sharedUsersPerPage) { [weak self] result in
            guard let self, question.isAwaited else { return }
            switch result {
            case .success((let aors, let next)): sharedRestore(aors, next: next, question, conditions)
            case .failure(let error): question.fail(error)
            }
        }
    }

    private func sharedRestore(_ aors: [String], next: String?, _ question: Question, _ conditions: RestoreConditions) {
        let now = SystemClock.wallSeconds()
        var (rows, failure): ([RemovedBinding], StoreError?) = ([], nil)
        let users = aors.filter(conditions.listing.admits)
        var left = users.count
        let finish: () -> Void = { [self] in
            if let failure {
                return question.fail(failure)
            }
            tell((rows, next), question, conditions)
        }
        guard left > 0 else { return finish() }
        for aor in users {
            store.ask(about: aor) { [self] (store) throws(StoreError) in
                try restored(aor, conditions, now, in: store)
            } then: { result in
                switch result {
                case .success(let found): rows += found
                case .failure(let error): failure = error
                }
                left -= 1
                if left == 0 { finish() }
            }
        }
    }

    private func tell(_ page: RestorePage, _ question: Question, _ conditions: RestoreConditions) {
        let now = SystemClock.wallSeconds()
        if !conditions.isDry, !page.rows.isEmpty {
            context.statistics.restored += page.rows.count
            context.log(
                .notice, "\(page.rows.count) removed binding\(page.rows.count == 1 ? "" : "s") restored by hand")
        }
        question.reply { writer in
            for row in page.rows {
                writer.put(.row, 1)
                writer.column("aor", row.binding.aor)
                writer.column("provider", row.binding.provider.name)
                writer.column("environment", row.binding.environment.name)
                writer.column("app", row.binding.app)
                writer.column("service", row.binding.service?.name ?? "")
                writer.column("token", EngineLog.shortened(row.binding.token))
                writer.column("registered_ago", max(0, now &- row.binding.registeredAt))
                writer.column("removed_ago", max(0, now &- row.removedAt))
                writer.column("removed", row.reason)
            }
            if let next = page.next { writer.put(.cursor, next) }
        }
    }
}
