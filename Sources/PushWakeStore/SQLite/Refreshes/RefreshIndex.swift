// SPDX-License-Identifier: MIT

import PushWakeCore

/// Users of whom is known, without a look at their rows, what a REGISTER has to be like to change nothing but times.
///
/// Such a user has nothing but what one REGISTER brought, and no removed binding. Of each there are 32 bytes here: who it
/// is, what was registered, and which rows hold it. 64 bits stand for the user, and 64 for all that was registered, which
/// are others in each process: a change would be overlooked only where they come out equal by chance.
struct RefreshIndex {
    private struct Entry {
        let content: UInt64
        let rows: Rows
    }

    /// One row, or some that follow each other.
    struct Rows: Equatable {
        let first: Int64
        let count: Int32
    }

    /// A table that grows does so all at once: these are small enough that nobody waits for it.
    private static let parts = 256
    private static let mostPerPart = 8192

    private let seed = UInt64.random(in: 0...UInt64.max)
    private var parts = [[UInt64: Entry]](repeating: [:], count: Self.parts)

    /// The rows of a user who registers nothing new; nil where more has to be looked at.
    func rows(of bindings: [Binding]) -> Rows? {
        guard let aor = bindings.first?.aor else { return nil }
        let user = user(aor)
        guard let entry = parts[part(user)][user], entry.content == content(bindings) else { return nil }
        return entry.rows
    }

    /// Notes what a user has now.
    mutating func note(_ bindings: [Binding], in rows: Rows) {
        guard let aor = bindings.first?.aor else { return }
        let user = user(aor)
        let part = part(user)
        // Whoever still registers is noted again.
        if parts[part].count >= Self.mostPerPart, parts[part][user] == nil { parts[part] = [:] }
        parts[part][user] = Entry(content: content(bindings), rows: rows)
    }

    /// Nothing is known of this user any more.
    mutating func forget(_ aor: String) {
        let user = user(aor)
        parts[part(user)][user] = nil
    }

    /// Nothing is known of anybody.
    mutating func forgetAll() { parts = [[UInt64: Entry]](repeating: [:], count: Self.parts) }

    private func user(_ aor: String) -> UInt64 {
        var digest = ByteDigest(seed: seed)
        digest.add(aor)
        return digest.value
    }

    /// Its texts, times aside.
    private func content(_ bindings: [Binding]) -> UInt64 {
        var digest = ByteDigest(seed: ~seed)
        for binding in bindings { digest.add(binding) }
        return digest.value
    }

    private func part(_ user: UInt64) -> Int { Int(truncatingIfNeeded: user >> 56) & (Self.parts - 1) }
}

/// 64 bits that stand for a sequence of numbers and texts. No protection against an attacker.
struct ByteDigest {
    private var state: UInt64

    init(seed: UInt64) { state = seed ^ 0xCBF2_9CE4_8422_2325 }

    /// All bits of it depend on all that was added.
    var value: UInt64 {
        let mixed = (state ^ state >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return mixed ^ mixed >> 29
    }

    mutating func add(_ word: UInt64) {
        // Each bit of the word changes bits everywhere, so that no other change nearby takes it back.
        let product = (state ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        state = (product.high ^ product.low) &+ (state &<< 32 | state &>> 32)
    }

    mutating func add(_ text: String) {
        let bytes = text.utf8Span.span
        // The length first: two texts must not be taken for two others that are the same together.
        add(UInt64(bytes.count))
        var index = 0
        let whole = bytes.count & ~7
        while index < whole {
            var word: UInt64 = 0
            for byte in 0..<8 { word |= UInt64(bytes[index &+ byte]) &<< UInt64(truncatingIfNeeded: byte &* 8) }
            add(word)
            index &+= 8
        }
        guard index < bytes.count else { return }
        var rest: UInt64 = 0
        while index < bytes.count {
            rest = rest << 8 | UInt64(bytes[index])
            index &+= 1
        }
        add(rest)
    }

    /// All of a binding that is in its row, times aside.
    fileprivate mutating func add(_ binding: Binding) {
        var kind = UInt64(binding.provider.rawValue)
        kind = kind << 8 | UInt64(binding.environment.rawValue)
        kind = kind << 8 | UInt64(binding.service?.rawValue ?? 0)
        kind = kind << 8 | UInt64(binding.dialect.rawValue)
        kind = kind << 8 | UInt64(binding.flags)
        add(kind << 8 | UInt64(binding.attributes.entries.count))
        add(binding.aor)
        add(binding.app)
        add(binding.team)
        add(binding.token)
        add(binding.instance)
        add(binding.contact)
        add(binding.callID)
        for attribute in binding.attributes.entries {
            add(attribute.name)
            add(attribute.value)
        }
    }
}
