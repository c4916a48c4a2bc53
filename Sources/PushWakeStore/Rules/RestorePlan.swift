// SPDX-License-Identifier: MIT

import PushWakeCore

/// Which removed bindings of a user may come back. Pure, so that every store decides alike.
enum RestorePlan {
    /// Places of those that are meant, the newest first: as many as there is room for. None whose token is in use again or
    /// whose phone has registered since: what it has is what it wants.
    static func tombstones(
        _ removed: [RemovedBinding], beside live: [Binding], perUser: Int, now: Int64,
        where isMeant: (RemovedBinding) -> Bool
    ) -> [Int] {
        var back: [Int] = []
        for index in removed.indices.sorted(by: { removed[$0].removedAt > removed[$1].removedAt }) {
            let tombstone = removed[index]
            guard live.count + back.count < perUser, tombstone.binding.forgetAt > now, isMeant(tombstone) else {
                continue
            }
            let device = DeviceIdentity(of: tombstone.binding)
            let isSuperseded = live.contains {
                $0.hasSameToken(as: tombstone.binding) || device.owns($0) && $0.registeredAt > tombstone.removedAt
            }
            // It may have been removed twice.
            let isTwin = back.contains { removed[$0].binding.hasSameToken(as: tombstone.binding) }
            if !isSuperseded, !isTwin { back.append(index) }
        }
        return back
    }
}

extension Binding {
    /// Whether it has the token of another that a provider has just taken a push for, the first one.
    func isFirstAccepted(as other: Binding) -> Bool {
        acceptedAt == 0 && provider == other.provider && token.isSameBytes(as: other.token)
            && app.isSameBytes(as: other.app)
    }
}
