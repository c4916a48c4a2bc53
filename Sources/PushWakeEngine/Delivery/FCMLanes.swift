// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// The lanes to Google: one per service account.
struct FCMLanes {
    let keys: FCMKeys
    private let lanes: [FCMLane?]
    /// Says no to bindings that no account serves.
    private let refusing: [RefusingLane]
    private let nobody: RefusingLane

    /// `makeLane` opens the lane of one account; accounts that have a lane in `kept` stay on it, with token and
    /// connections.
    init(_ keys: FCMKeys, keeping kept: FCMLanes?, loop: Loop, makeLane: (FCMKeys.Key) -> FCMLane) {
        self.keys = keys
        let before = kept?.distinct ?? []
        var made: [FCMLane] = []
        lanes = keys.keys.map { key in
            guard let key else { return nil }
            // Two files may hold the same account: Google counts by project, and so does the breaker.
            if let known = made.first(where: { $0.account == key.account }) { return known }
            let lane = before.first { $0.account == key.account } ?? makeLane(key)
            lane.isGuess = { keys.directory.isGuess(for: $0) }
            made.append(lane)
            return lane
        }
        refusing = keys.sources.map { source in
            RefusingLane(
                label: "fcm \(source.setting)",
                verdict: Verdict(
                    .misconfigured, reason: "NoServiceAccount (\(source.path) of \(source.setting) cannot be used)"),
                loop: loop)
        }
        nobody = RefusingLane(
            label: "fcm",
            verdict: Verdict(
                .misconfigured,
                reason: "NoServiceAccount (set fcm_key, or fcm_appN and fcm_keyN for this package or project)"),
            loop: loop)
    }

    /// The lane of a binding; one that refuses with the remedy when no account serves it.
    func lane(for binding: Binding) -> any ProviderLane {
        switch keys.directory.choice(for: binding.app) {
        case .account(let place): lanes[place] ?? nobody
        case .broken(let place): refusing[place]
        case .none: nobody
        }
    }

    /// Connects each account.
    func warmUp() { for lane in distinct { lane.warmUp() } }

    /// Others have taken over, except for lanes that they took along; pushes under way finish.
    func retire(replacedBy new: FCMLanes) {
        let inUse = new.distinct
        for lane in distinct where !inUse.contains(where: { $0 === lane }) { lane.retire() }
    }

    private var distinct: [FCMLane] {
        var seen: [FCMLane] = []
        for case let lane? in lanes where !seen.contains(where: { $0 === lane }) { seen.append(lane) }
        return seen
    }
}
