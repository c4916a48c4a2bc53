// SPDX-License-Identifier: MIT

/// Days on which calls failed for a phone, by its binding: it was pushed and did not come, or it came and said nothing.
///
/// Days and not calls: a phone that is off for an evening may be called any number of times. By user and token: who
/// registers somebody else's token fails for himself alone. Times in seconds.
public struct CallFailures: Sendable {
    /// Different days that it takes at least.
    public static let fewestDays = 3
    /// Bindings that are remembered; past it all begin anew.
    public static let most = 100_000
    private static let day: Int64 = 86_400

    private struct Entry {
        var days = 0
        var firstAt: Int64
        var lastAt: Int64
    }

    private let endsWithRegister: Bool
    private var entries: [UInt64: Entry] = [:]
    /// When a phone of each provider came last for a push.
    private var cameAt = [Int64](repeating: 0, count: Provider.allCases.count)

    /// Nothing has failed yet. `endsWithRegister`: a phone that has registered since begins anew, whoever woke it.
    public init(endsWithRegister: Bool) { self.endsWithRegister = endsWithRegister }

    /// On how many different days calls fail before the binding goes, by `remove_on_callfail` or `remove_on_noanswer`; nil
    /// where it stays. Behind a gateway the SIP server sees to its users itself, so there both are off unless they are set.
    public static func days(_ key: SettingKey, _ settings: Settings) -> Int? {
        let days = Int(settings.integer(key))
        if days < 0 { return settings.isGateway ? nil : fewestDays }
        return days == 0 ? nil : max(days, fewestDays)
    }

    /// One more call has failed; on how many different days some have by now (UTC). `binding` as the call found it.
    public mutating func add(_ binding: Binding, now: Int64) -> Int {
        let key = Self.key(of: binding)
        if entries.count >= Self.most, entries[key] == nil { entries = [:] }
        var entry = entries[key] ?? Entry(firstAt: now, lastAt: now)
        if endsWithRegister, binding.registeredAt > entry.lastAt { entry = Entry(firstAt: now, lastAt: now) }
        if entry.days == 0 || now / Self.day > entry.lastAt / Self.day { entry.days += 1 }
        // A clock that is put back makes no days.
        entry.lastAt = max(entry.lastAt, now)
        entries[key] = entry
        return entry.days
    }

    /// Whether phones of this provider have come since calls for this one began to fail. Where none does it is not the
    /// phones: their way to this server is closed, or the pushes do not arrive.
    public func othersCome(besides binding: Binding) -> Bool {
        guard let entry = entries[Self.key(of: binding)] else { return false }
        return cameAt[Self.place(of: binding)] > entry.firstAt
    }

    /// The phone has come, or has said something.
    public mutating func succeed(_ binding: Binding, now: Int64) {
        cameAt[Self.place(of: binding)] = now
        forget(binding)
    }

    /// Its binding is gone.
    public mutating func forget(_ binding: Binding) {
        if !entries.isEmpty { entries[Self.key(of: binding)] = nil }
    }

    private static func place(of binding: Binding) -> Int { Int(binding.provider.rawValue) - 1 }

    /// 64 bits with a seed that nobody outside knows stand for user and token.
    private static func key(of binding: Binding) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(binding.aor)
        hasher.combine(binding.provider)
        hasher.combine(binding.token)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
