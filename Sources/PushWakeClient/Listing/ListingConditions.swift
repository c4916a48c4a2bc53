// SPDX-License-Identifier: MIT

public import PushWakeCore

/// Which bindings of a listing are meant; all that is said must hold.
///
/// Between processes it is text, one `name=value` a line:
///
///     aor       one user, byte by byte; without it those of all users
///     contact   the Contact URI of one registration, byte by byte
///     user      a pattern with * and ?, of the user part when it has no @, else of the whole AoR
///     part      a part of the AoR, in large or small letters
///     provider  as the column has it (`Provider.name`)
///     verdict   a part of what the column says, in large or small letters
///     age       +2d registered longer ago than two days, -1h within the last hour; both may be given. s, m, h, d, w
public struct ListingConditions: Equatable, Sendable {
    /// Says which word is wrong, and what to write.
    public struct Mistake: Error, Equatable, Sendable {
        public let message: String
    }

    /// Empty for all users.
    public private(set) var aor = ""
    private var pattern: String?
    /// In lower case.
    private var part = ""
    /// Empty for all.
    private var contact = ""
    private var provider: Provider?
    private var verdict = ""
    /// Seconds since the last REGISTER.
    private var oldest: Int64?
    private var youngest: Int64?
    /// As they were given.
    public private(set) var lines = ""

    /// All of one user, or everything.
    public init(aor: String = "") { self.aor = aor }

    /// Reads what `lines` gives.
    public init(lines: String) throws(Mistake) {
        for line in lines.utf8.split(separator: 0x0A) {
            guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else {
                throw Mistake(message: "\"\(Self.shown(Substring(line)))\": write name=value")
            }
            try add(String(Substring(line[..<equals])), String(Substring(line[line.index(after: equals)...])))
        }
    }

    /// The text form of words as people write them: `name=value` each, of which the first may be a user. Names and values
    /// are for the engine to judge.
    public static func lines(words: [String]) throws(Mistake) -> String {
        var lines = ""
        for (index, word) in words.enumerated() {
            let isUser = index == 0 && !word.contains("=")
            guard isUser || word.contains("="), !word.utf8.contains(0x0A) else {
                throw Mistake(message: "\"\(shown(word[...]))\": write name=value")
            }
            lines += (isUser ? "aor=" : "") + word + "\n"
        }
        return lines
    }

    /// Adds one condition.
    public mutating func add(_ name: String, _ value: String) throws(Mistake) {
        let shown = Self.shown(value[...])
        let most = ["aor", "contact"].contains(name) ? 4096 : 255
        if value.utf8.count > most {
            throw Mistake(message: "\(Self.shown(name[...])): \"\(shown)…\" is too long; write at most \(most) bytes")
        }
        if value.isEmpty || value.utf8.contains(0x0A) {
            throw Mistake(message: "\(Self.shown(name[...])): \"\(shown)\" does not fit; write one short line")
        }
        switch name {
        case "aor": aor = value
        case "contact": contact = value
        case "user": pattern = value
        case "part": part = value.lowercased()
        case "provider":
            provider = Provider.allCases.first { $0.name == value }
            guard provider != nil else {
                let names = Provider.allCases.map(\.name).joined(separator: ", ")
                throw Mistake(message: "provider: \"\(shown)\" is none; write one of \(names)")
            }
        case "verdict": verdict = value.lowercased()
        case "age": try addAge(value, shown)
        default:
            throw Mistake(
                message: "there is no condition \"\(Self.shown(name[...]))\"; "
                    + "write aor, contact, user, provider, part, verdict or age")
        }
        lines += "\(name)=\(value)\n"
    }

    private mutating func addAge(_ value: String, _ shown: String) throws(Mistake) {
        guard let seconds = Age(value.dropFirst())?.seconds else { throw Self.noAge(shown) }
        switch value.first {
        case "+", ">": oldest = max(oldest ?? 0, seconds)
        case "-", "<": youngest = min(youngest ?? .max, seconds)
        default: throw Self.noAge(shown)
        }
    }

    private static func shown(_ text: Substring) -> String { PrintableText.cleaned(String(text.prefix(80))) }

    private static func noAge(_ shown: String) -> Mistake {
        Mistake(
            message: "age: \"\(shown)\" does not fit; write +2d for more than two days ago, -1h for the last hour "
                + "(s, m, h, d, w)")
    }

    /// What the names of all begin with who may be meant; empty where they may begin with anything.
    public var beginning: String { pattern.map { String($0.prefix { $0 != "*" && $0 != "?" }) } ?? "" }

    /// Whether bindings of this user may be meant.
    public func admits(user: String) -> Bool {
        guard part.isEmpty || user.lowercased().contains(part) else { return false }
        guard let pattern else { return true }
        let part = pattern.contains("@") ? Substring(user) : user.prefix { $0 != "@" }
        return Glob.matches(part.utf8, pattern.utf8)
    }

    /// Whether a binding of such a user is meant; `verdict` as the listing says it, `age` in seconds.
    public func admits(_ provider: Provider, contact: String = "", age: Int64, verdict: String) -> Bool {
        if !self.contact.isEmpty, self.contact != contact { return false }
        if let wanted = self.provider, wanted != provider { return false }
        if let oldest, age <= oldest { return false }
        if let youngest, age > youngest { return false }
        return self.verdict.isEmpty || verdict.lowercased().contains(self.verdict)
    }

    /// What the listing says of a binding: why it is gone, or what its pushes came to.
    public static func verdict(_ words: String, removed: String) -> String {
        removed.isEmpty ? words : "removed: \(removed)"
    }
}

/// A span of time as people write it.
public struct Age: Equatable, Sendable {
    public let seconds: Int64
    private static let units: [(letter: Character, seconds: Int64)] = [
        ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800),
    ]

    /// Takes seconds.
    public init(seconds: Int64) { self.seconds = seconds }

    /// Reads `90`, `90s`, `15m`, `2h`, `3d`, `1w`.
    public init?(_ text: Substring) {
        var digits = text
        var unit: Int64 = 1
        if let last = text.last, let found = Self.units.first(where: { $0.letter == last }) {
            digits = text.dropLast()
            unit = found.seconds
        }
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(digits) else { return nil }
        let (product, isOver) = number.multipliedReportingOverflow(by: unit)
        guard !isOver else { return nil }
        seconds = product
    }

    /// Short: `42s`, `12m`, `30h`, `12d`.
    public var text: String {
        switch max(0, seconds) {
        case let seconds where seconds < 100: "\(seconds)s"
        case let seconds where seconds < 6000: "\(seconds / 60)m"
        case let seconds where seconds < 172_800: "\(seconds / 3600)h"
        case let seconds: "\(seconds / 86_400)d"
        }
    }
}

/// Patterns with `*` for any bytes and `?` for one.
enum Glob {
    /// Walks the text once and goes back to the last star only: a pattern of many stars takes no longer than their
    /// number times the text.
    static func matches(_ text: Substring.UTF8View, _ pattern: String.UTF8View) -> Bool {
        let (text, pattern) = (Array(text), Array(pattern))
        var (at, place) = (0, 0)
        var star: (pattern: Int, text: Int)?
        while at < text.count {
            if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
                star = (place, at)
                place += 1
            } else if place < pattern.count, pattern[place] == UInt8(ascii: "?") || pattern[place] == text[at] {
                (at, place) = (at + 1, place + 1)
            } else if let last = star {
                star = (last.pattern, last.text + 1)
                (at, place) = (last.text + 1, last.pattern + 1)
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
