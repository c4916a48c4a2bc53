// SPDX-License-Identifier: MIT

public import PushWakeCore

/// Which removed bindings come back: those that a listing's conditions admit, with the reason of their removal as the
/// verdict, and that were removed within a time.
///
/// Between processes it is text, as that of `ListingConditions`, with two lines more:
///
///     since  2h: removed within the last two hours; s, m, h, d, w
///     dry    1: nothing is changed
public struct RestoreConditions: Equatable, Sendable {
    /// What the reason has a part of where none is named: providers called these dead.
    public static let usualReason = "token-gone"

    /// Those of whom, and why they were removed.
    public private(set) var listing = ListingConditions()
    /// Seconds.
    public private(set) var since: Int64
    /// They are only named.
    public private(set) var isDry: Bool

    /// Takes what the shell was given; `reason` is a part of what a listing says.
    public init(
        since: String, reason: String, isDry: Bool, further: [(name: String, value: String?)]
    ) throws(ListingConditions.Mistake) {
        guard let age = Age(since[...]), age.seconds > 0 else {
            let shown = PrintableText.cleaned(String(since.prefix(80)))
            throw ListingConditions.Mistake(
                message: "since: \"\(shown)\" does not fit; write 2h for the last two hours (s, m, h, d, w)")
        }
        self.since = age.seconds
        self.isDry = isDry
        try listing.add("verdict", reason)
        for (name, value) in further {
            if let value { try listing.add(name, value) }
        }
    }

    /// Reads what `lines` gives.
    public init(lines: String) throws(ListingConditions.Mistake) {
        var rest = ""
        var (since, isDry): (String, Bool) = ("", false)
        for line in lines.split(separator: "\n") {
            if line.hasPrefix("since=") {
                since = String(line.dropFirst(6))
            } else if line.hasPrefix("dry=") {
                isDry = line == "dry=1"
            } else {
                rest += line + "\n"
            }
        }
        try self.init(since: since, reason: Self.usualReason, isDry: isDry, further: [])
        listing = try ListingConditions(lines: rest)
    }

    /// As they were given.
    public var lines: String { "since=\(since)\ndry=\(isDry ? 1 : 0)\n" + listing.lines }

    /// Whether a binding of a user who is meant comes back, that was removed at a time in seconds since 1970.
    public func admits(_ binding: Binding, reason: String, removedAt: Int64, now: Int64) -> Bool {
        removedAt >= now &- since
            && listing.admits(
                binding.provider, contact: binding.contact, age: max(0, now &- binding.registeredAt),
                verdict: ListingConditions.verdict("", removed: reason))
    }
}
