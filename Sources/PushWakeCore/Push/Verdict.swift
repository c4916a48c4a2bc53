// SPDX-License-Identifier: MIT

/// What one provider answer means: the outcome and what follows from it.
public struct Verdict: Equatable, Sendable {
    public var outcome: Outcome
    /// The provider's own word, such as `BadDeviceToken`; empty when it gave none. Printable: anybody may be the
    /// provider (a Web Push service is named by a phone).
    public private(set) var reason: String {
        get { cause?.reason ?? "" }
        set { set(newValue, detail) }
    }
    /// For the log: which setting or file is to blame; empty when the reason says all.
    public var detail: String {
        get { cause?.detail ?? "" }
        set { set(reason, newValue) }
    }
    /// What to do about the push itself.
    public var next: Next
    /// What to do about the connection it came on.
    public var connection: ConnectionFate
    /// The token died at this time, milliseconds since 1970: a binding registered later is spared.
    public var goneSince: Int64?
    /// It says nothing of the credential but that it is not for this app, which the phone has named.
    public var isOfApp = false
    /// The token is called bad, as each would be with a wrong setting of ours: environment, topic, project or key.
    public var mayBeSetting: Bool
    /// Nil where there is nothing to say, as of each push that is accepted: verdicts go through many hands.
    private var cause: Cause?

    /// Ways on from an answer.
    public enum Next: Equatable, Sendable {
        /// The outcome is final.
        case finish
        /// Send the same push again, no sooner than after this many milliseconds.
        case retry(after: Int64)
        /// The same for all pushes of this credential: the provider wants none for so many milliseconds.
        case hold(Int64)
        /// The same for all pushes of this credential, without a word of when: half as many go per second from now on, and
        /// this one again, no sooner than after this many milliseconds.
        case slow(after: Int64)
        /// Get a fresh credential (JWT or OAuth token), then send once more.
        case renewCredential
    }

    /// What happens to the connection.
    public enum ConnectionFate: Equatable, Sendable {
        case keep
        /// Send nothing more on it; open another.
        case retire
    }

    public init(
        _ outcome: Outcome, reason: String = "", next: Next = .finish, connection: ConnectionFate = .keep,
        goneSince: Int64? = nil, mayBeSetting: Bool = false
    ) {
        self.outcome = outcome
        self.next = next
        self.connection = connection
        self.goneSince = goneSince
        self.mayBeSetting = mayBeSetting
        if !reason.isEmpty { cause = Cause(PrintableText.cleaned(reason), "") }
    }

    private mutating func set(_ reason: String, _ detail: String) {
        cause = reason.isEmpty && detail.isEmpty ? nil : Cause(reason, detail)
    }

    private final class Cause: Equatable, Sendable {
        let reason: String
        let detail: String

        init(_ reason: String, _ detail: String) {
            self.reason = reason
            self.detail = detail
        }

        static func == (a: Cause, b: Cause) -> Bool { a === b || a.reason == b.reason && a.detail == b.detail }
    }
}

extension Verdict {
    /// Bytes of a token that may be read: the log's own short form has ten.
    private static let shown = 11

    /// The same without what the provider has repeated of the token (Huawei lists bad ones): whoever reads a log or a table
    /// shall not be able to push.
    public func withoutToken(of binding: Binding) -> Verdict {
        let text = Array(reason.utf8)
        guard text.count > Self.shown else { return self }
        // Of a subscription the host is known to all.
        let secret = Array(
            (binding.provider == .webpush ? HTTPOrigin.split(binding.token)?.1 : binding.token)?.utf8 ?? "".utf8)
        var (clean, at, hasHidden) = ([UInt8](), 0, false)
        while at < text.count {
            let count = Self.repeated(text[at...], of: secret)
            if count > Self.shown {
                clean.append(contentsOf: "…".utf8)
                hasHidden = true
            } else {
                clean.append(text[at])
            }
            at += count > Self.shown ? count : 1
        }
        guard hasHidden else { return self }
        var verdict = self
        verdict.reason = String(decoding: clean, as: UTF8.self)
        return verdict
    }

    /// Bytes at the beginning of the text that are a part of the secret; 0 when too few are.
    private static func repeated(_ text: ArraySlice<UInt8>, of secret: [UInt8]) -> Int {
        guard text.count > shown, secret.count > shown else { return 0 }
        for start in 0..<secret.count - shown where secret[start] == text.first {
            let count = zip(text, secret[start...]).prefix { $0 == $1 }.count
            if count > shown { return count }
        }
        return 0
    }
}

/// How a push ended: one word for all providers. Raw values are `enum pushwake_outcome`.
public enum Outcome: UInt8, Sendable, CaseIterable {
    case accepted = 0
    /// The token is dead.
    case tokenGone = 1
    /// Permanent, and the token is not to blame.
    case rejected = 2
    case throttled = 3
    /// The provider could not be reached or was out of order.
    case unavailable = 4
    /// Key, certificate, topic or project is wrong: an operator must act.
    case misconfigured = 5
    /// The deadline passed first.
    case expired = 6
    /// The queue was full; never sent.
    case overloaded = 7

    /// As logs, counters and hosts write it.
    public var name: String {
        switch self {
        case .accepted: "accepted"
        case .tokenGone: "token-gone"
        case .rejected: "rejected"
        case .throttled: "throttled"
        case .unavailable: "unavailable"
        case .misconfigured: "misconfigured"
        case .expired: "expired"
        case .overloaded: "overloaded"
        }
    }
}
