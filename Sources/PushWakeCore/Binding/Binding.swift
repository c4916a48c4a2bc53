// SPDX-License-Identifier: MIT

/// One push token of one device of one user: where to push, and what the phone wishes.
///
/// A phone with a PushKit token and a remote token has two bindings that share
/// `instance` and `contact`.
public struct Binding: Equatable, Sendable {
    /// Key of the user at the registrar: `user` or `user@domain`.
    public var aor: String
    /// Who delivers.
    public var provider: Provider
    /// Which of the provider's worlds the token is of.
    public var environment: Environment
    /// Bundle id, package or project; empty for Web Push.
    public var app: String
    /// Apple team id; empty when the phone did not say.
    public var team: String
    /// Nil when the dialect has no such notion.
    public var service: Service?
    /// Device token, registration token or subscription URI, escapes resolved.
    public var token: String
    /// How the phone said it.
    public var dialect: Dialect
    /// `+sip.instance` without quotes; empty when the phone sent none.
    public var instance: String
    /// Contact URI as registered, push parameters included.
    public var contact: String
    /// Call-ID of the last REGISTER.
    public var callID: String
    /// CSeq of the last REGISTER.
    public var cseq: UInt32
    /// What the phone wishes for its pushes.
    public var wishes: Wishes
    /// Seconds since 1970 of the last REGISTER.
    public var registeredAt: Int64
    /// Seconds since 1970 at which the SIP registration ends.
    public var expiresAt: Int64
    /// Seconds since 1970 at which the binding is forgotten.
    public var forgetAt: Int64
    /// The phone refreshes by itself (`+sip.pnsreg`, RFC 8599, 8.5).
    public var refreshesItself: Bool

    /// Takes every field as it is.
    public init(
        aor: String = "", provider: Provider, environment: Environment = .standard, app: String = "",
        team: String = "", service: Service? = nil, token: String, dialect: Dialect, instance: String = "",
        contact: String = "", callID: String = "", cseq: UInt32 = 0, wishes: Wishes = Wishes(),
        registeredAt: Int64 = 0, expiresAt: Int64 = 0, forgetAt: Int64 = 0, refreshesItself: Bool = false
    ) {
        self.aor = aor
        self.provider = provider
        self.environment = environment
        self.app = app
        self.team = team
        self.service = service
        self.token = token
        self.dialect = dialect
        self.instance = instance
        self.contact = contact
        self.callID = callID
        self.cseq = cseq
        self.wishes = wishes
        self.registeredAt = registeredAt
        self.expiresAt = expiresAt
        self.forgetAt = forgetAt
        self.refreshesItself = refreshesItself
    }
}

extension Binding {
    /// Per-binding wishes of the phone, under the names of the Contact parameters
    /// (`pn-timeout`, `pn-call-str`, `pn-msg-str`, `pn-groupchat-str`, `pn-call-snd`,
    /// `pn-msg-snd`, and our own `pn-selector`, `pn-p256dh`, `pn-auth`), values unescaped.
    public struct Wishes: Equatable, Sendable {
        /// In the order the phone sent them.
        public private(set) var entries: [Entry]

        /// One wish.
        public struct Entry: Equatable, Sendable {
            /// Lower case.
            public let name: String
            /// Escapes resolved.
            public let value: String

            /// Pairs a name with a value.
            public init(name: String, value: String) {
                self.name = name
                self.value = value
            }
        }

        /// Starts with these wishes.
        public init(_ entries: [Entry] = []) { self.entries = entries }

        /// The phone wishes nothing.
        public var isEmpty: Bool { entries.isEmpty }

        /// The value under a lower-case name; setting nil removes it.
        public subscript(name: String) -> String? {
            get { entries.first { $0.name == name }?.value }
            set {
                entries.removeAll { $0.name == name }
                if let newValue { entries.append(Entry(name: name, value: newValue)) }
            }
        }
    }
}
