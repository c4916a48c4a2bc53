// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// Phones that have sent a token of null, by AoR and Call-ID. The first time one without instance may be one that had a
/// token before it started anew; after that it is known to have none, and speaks of no other phone's.
struct NullTokenPhones {
    /// Then all are forgotten, and each is what it is the first time.
    private static let most = 4096
    private var names: Set<Int> = []

    func has(_ registration: Registration) -> Bool { !names.isEmpty && names.contains(Self.name(registration)) }

    mutating func note(_ registration: Registration) {
        // Nobody asks about a phone that has an instance.
        guard registration.unbindings.contains(where: \.instance.isEmpty) else { return }
        let name = Self.name(registration)
        guard !names.contains(name) else { return }
        if names.count >= Self.most { names.removeAll(keepingCapacity: true) }
        names.insert(name)
    }

    private static func name(_ registration: Registration) -> Int {
        var hasher = Hasher()
        hasher.combine(registration.aor)
        hasher.combine(registration.callID)
        return hasher.finalize()
    }
}
