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

    /// `makeLane` opens the lane of one account.
    init(_ keys: FCMKeys, loop: Loop, makeLane: (FCMKeys.Key, FCMDirectory) -> FCMLane) {
        self.keys = keys
        var made: [(account: ServiceAccount, lane: FCMLane)] = []
        lanes = keys.keys.map { key in
            guard let key else { return nil }
            // Two files may hold the same account: Google counts by project, and so does the breaker.
            if let known = made.first(where: { $0.account == key.account }) { return known.lane }
            let lane = makeLane(key, keys.directory)
            made.append((key.account, lane))
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

    /// Other lanes have taken over; pushes under way finish.
    func retire() { for lane in distinct { lane.retire() } }

    private var distinct: [FCMLane] {
        var seen: [FCMLane] = []
        for case let lane? in lanes where !seen.contains(where: { $0 === lane }) { seen.append(lane) }
        return seen
    }
}
