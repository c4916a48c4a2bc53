// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// Phones that registered while hosts may not have told yet which requests they hold from an earlier engine.
///
/// Workers ask a new engine as soon as it listens, the supervisor tells of held requests some milliseconds later. What
/// a REGISTER in between means for them is kept until then.
struct RecentRegistrations {
    private struct Entry {
        let registration: CallRegistration
        let uri: String
        let domain: String
        /// When it came, monotonic milliseconds.
        let at: Int64
    }

    private static let mostContacts = 8192
    /// Milliseconds in which hosts find a new engine and tell it all.
    private static let life: Int64 = 10_000

    private var end: Int64
    private var users: [UserKey: [Entry]] = [:]
    private(set) var count = 0

    /// The engine starts at `now`.
    init(now: Int64) { end = now + Self.life }

    /// A request is not known before `time`: registrations are kept until then.
    mutating func stayOpen(until time: Int64) { end = max(end, time) }

    /// Whether it still has to be told.
    func isOpen(now: Int64) -> Bool { now < end }

    /// A contact has registered; only its newest registration counts.
    mutating func add(_ registration: CallRegistration, uri: String, aor: String, domain: String, now: Int64) {
        guard isOpen(now: now) else { return }
        remove(uri: uri, aor: aor, domain: domain)
        guard count < Self.mostContacts else { return }
        users[UserKey(aor), default: []].append(Entry(registration: registration, uri: uri, domain: domain, at: now))
        count += 1
    }

    /// A contact is gone.
    mutating func remove(uri: String, aor: String, domain: String) {
        guard var entries = users[UserKey(aor)] else { return }
        let bare = Binding.withoutPushParameters(uri)
        let before = entries.count
        entries.removeAll { $0.domain == domain && ($0.uri == uri || Binding.withoutPushParameters($0.uri) == bare) }
        guard entries.count < before else { return }
        count -= before - entries.count
        users[UserKey(aor)] = entries.isEmpty ? nil : entries
    }

    /// Who has registered for a request since `time`, in order: for one that an earlier engine began all that this one has
    /// heard of counts.
    func registrations(
        for request: HeldRequest, since time: Int64 = .min, now: Int64
    ) -> [(registration: CallRegistration, uri: String)] {
        guard isOpen(now: now) else { return [] }
        return (users[UserKey(request.aor)] ?? []).filter { request.isFor($0.domain) && $0.at >= time }.map {
            ($0.registration, $0.uri)
        }
    }

    /// Frees what nobody will ask for.
    mutating func sweep(now: Int64) {
        guard !isOpen(now: now), count > 0 else { return }
        users = [:]
        count = 0
    }
}
