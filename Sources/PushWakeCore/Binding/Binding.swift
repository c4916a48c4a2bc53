// SPDX-License-Identifier: MIT

/// One push token of one device of one user: where to push, and what the phone asks for.
///
/// A phone with a PushKit token and a remote token has two bindings that share
/// `instance` and `contact`.
///
/// Its texts are in one object that all copies share: they seldom change, and a binding goes through many hands.
public struct Binding: Equatable, Sendable {
    @usableFromInline var box: TextBox

    /// Key of the user at the registrar: `user` or `user@domain`.
    @inlinable public var aor: String {
        get { box.texts.aor }
        set { change { $0.aor = newValue } }
    }
    /// Who delivers.
    public var provider: Provider
    /// Which of the provider's worlds the token is of.
    public var environment: Environment
    /// Bundle id, package or project; empty for Web Push.
    @inlinable public var app: String {
        get { box.texts.app }
        set { change { $0.app = newValue } }
    }
    /// Apple team id; empty when the phone did not say.
    @inlinable public var team: String {
        get { box.texts.team }
        set { change { $0.team = newValue } }
    }
    /// Nil when the dialect has no such notion.
    public var service: TokenUse?
    /// Device token, registration token or subscription URI, in the one spelling that it is compared in (`TokenSpelling`).
    public package(set) var token: String {
        @inlinable get { box.texts.token }
        set { change { $0.token = newValue } }
    }
    /// How the phone said it.
    public var dialect: Dialect
    /// `+sip.instance` without quotes; empty when the phone sent none.
    @inlinable public var instance: String {
        get { box.texts.instance }
        set { change { $0.instance = newValue } }
    }
    /// Contact URI as registered, push parameters included.
    @inlinable public var contact: String {
        get { box.texts.contact }
        set { change { $0.contact = newValue } }
    }
    /// Call-ID of the last REGISTER.
    @inlinable public var callID: String {
        get { box.texts.callID }
        set { change { $0.callID = newValue } }
    }
    /// CSeq of the last REGISTER.
    public var cseq: UInt32
    /// What the phone asks for in its pushes.
    @inlinable public var attributes: Attributes {
        get { box.texts.attributes }
        set { change { $0.attributes = newValue } }
    }
    /// Seconds since 1970 of the last REGISTER.
    public var registeredAt: Int64
    /// Seconds since 1970 at which the SIP registration ends.
    public var expiresAt: Int64
    /// Seconds since 1970 at which the binding is forgotten.
    public var forgetAt: Int64
    /// The phone refreshes by itself (`+sip.pnsreg`, RFC 8599, 8.5).
    public var refreshesItself: Bool
    /// `reg-id`: by which of its flows the phone registered (RFC 5626, 4.2); 0 when it said none, or one above 127.
    public var flowNumber: UInt8
    /// Seconds since 1970 at which a provider first took a push for it; 0 while none has. No part of what a phone registers.
    public var acceptedAt: UInt32
    /// Path (RFC 3327) by which a node that has no connection to the phone reaches it: the node where it registered last.
    /// Empty where no other node is.
    @inlinable public var route: String {
        get { box.texts.route }
        set { change { $0.route = newValue } }
    }

    /// Takes every field as it is, apart from the spelling of the token.
    public init(
        aor: String = "", provider: Provider, environment: Environment = .standard, app: String = "",
        team: String = "", service: TokenUse? = nil, token: String, dialect: Dialect, instance: String = "",
        contact: String = "", callID: String = "", cseq: UInt32 = 0, attributes: Attributes = Attributes(),
        registeredAt: Int64 = 0, expiresAt: Int64 = 0, forgetAt: Int64 = 0, refreshesItself: Bool = false,
        flowNumber: UInt8 = 0, route: String = "", acceptedAt: UInt32 = 0
    ) {
        box = TextBox(
            Texts(
                aor: aor, app: app, team: team, token: TokenSpelling.canonical(token, of: provider), instance: instance,
                contact: contact, callID: callID, route: route, attributes: attributes))
        self.provider = provider
        self.environment = environment
        self.service = service
        self.dialect = dialect
        self.cseq = cseq
        self.registeredAt = registeredAt
        self.expiresAt = expiresAt
        self.forgetAt = forgetAt
        self.refreshesItself = refreshesItself
        self.flowNumber = flowNumber
        self.acceptedAt = acceptedAt
    }

    /// Changes several texts at once.
    @usableFromInline mutating func change(_ body: (inout Texts) -> Void) {
        var texts = box.texts
        body(&texts)
        box = TextBox(texts)
    }

    /// What does not fit into a few words.
    @usableFromInline struct Texts: Equatable, Sendable {
        @usableFromInline var aor: String
        @usableFromInline var app: String
        @usableFromInline var team: String
        @usableFromInline var token: String
        @usableFromInline var instance: String
        @usableFromInline var contact: String
        @usableFromInline var callID: String
        @usableFromInline var route: String
        @usableFromInline var attributes: Attributes
    }

    @usableFromInline final class TextBox: Equatable, Sendable {
        @usableFromInline let texts: Texts

        init(_ texts: Texts) { self.texts = texts }

        @usableFromInline static func == (a: TextBox, b: TextBox) -> Bool { a === b || a.texts == b.texts }
    }
}

extension Binding {
    /// The attribute that names its table. Our own: of a Contact it is not read.
    private static let tableAttribute = "table"

    /// The registrar's table that nearly all phones are in (Kamailio). It is not stored: what is stored costs time with each
    /// REGISTER and push.
    public static let usualTable = "location"

    /// The registrar's table that its phone registered in; empty for the usual one, and where nobody said one.
    public var table: String {
        get { attributes[Self.tableAttribute] ?? "" }
        set { attributes[Self.tableAttribute] = newValue.isEmpty ? nil : newValue }
    }

    /// Says whether it counts for who looks in this table. One that names none is of the usual table, if phones register
    /// there; without a Contact, of all.
    public func isIn(table: String, usualIsInUse: Bool) -> Bool {
        guard !table.isEmpty else { return true }
        let own = self.table
        guard own.isEmpty else { return own.isSameBytes(as: table) }
        return !usualIsInUse || contact.isEmpty || table.isSameBytes(as: Self.usualTable)
    }
}

extension Binding {
    /// Per-binding attributes of the phone, under the names of the Contact parameters
    /// (`pn-timeout`, `pn-call-str`, `pn-msg-str`, `pn-groupchat-str`, `pn-call-snd`,
    /// `pn-msg-snd`, and our own `pn-selector`, `pn-p256dh`, `pn-auth`), values unescaped.
    public struct Attributes: Equatable, Sendable {
        /// In the order the phone sent them.
        public private(set) var entries: [Entry]

        /// One attribute.
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

        /// Starts with these attributes.
        public init(_ entries: [Entry] = []) { self.entries = entries }

        /// The phone asks for nothing.
        public var isEmpty: Bool { entries.isEmpty }

        /// The value under a lower-case name; setting nil removes it.
        public subscript(name: String) -> String? {
            get { entries.first { $0.name == name }?.value }
            set {
                entries.removeAll { $0.name == name }
                if let newValue { entries.append(Entry(name: name, value: newValue)) }
            }
        }

        /// The same for a parameter that is known.
        public subscript(name: PushParameterName) -> String? {
            get { self[name.rawValue] }
            set { self[name.rawValue] = newValue }
        }
    }
}

/// Which of a provider's two worlds a token belongs to.
public enum Environment: UInt8, Sendable, CaseIterable {
    /// As the settings say.
    case standard = 0
    case production = 1
    case sandbox = 2

    /// Says whether it is the sandbox, when the settings say so of `standard` or not.
    public func isSandbox(ifStandard standard: Bool) -> Bool {
        switch self {
        case .standard: standard
        case .production: false
        case .sandbox: true
        }
    }

    /// The name in JSON: `default`, `production` or `sandbox`.
    public var name: String {
        switch self {
        case .standard: "default"
        case .production: "production"
        case .sandbox: "sandbox"
        }
    }
}

/// What an Apple token is good for.
public enum TokenUse: UInt8, Sendable, CaseIterable {
    /// PushKit: rings through CallKit. Never used for anything but a call.
    case voip = 1
    /// An ordinary notification token.
    case remote = 2
    /// PushKit tokens for other things than calls (Apple, `PKPushType` and "Sending notification requests to APNs"): they
    /// are known, so that they do not count as a part of the bundle id, and get nothing.
    case complication = 3
    case fileProvider = 4
    case pushToTalk = 5

    /// Calls or messages may go to such a token.
    public var takesPushes: Bool { self == .voip || self == .remote }

    /// The name in logs and JSON, and in `pn-param`.
    public var name: String {
        switch self {
        case .voip: "voip"
        case .remote: "remote"
        case .complication: "complication"
        case .fileProvider: "fileprovider"
        case .pushToTalk: "pushtotalk"
        }
    }

    /// Reads a name. Small letters only: a bundle id may well end in `Voip`.
    init?(label: Span<UInt8>) {
        if label.equals("voip") {
            self = .voip
        } else if label.equals("remote") {
            self = .remote
        } else if label.equals("complication") {
            self = .complication
        } else if label.equals("fileprovider") {
            self = .fileProvider
        } else if label.equals("pushtotalk") {
            self = .pushToTalk
        } else {
            return nil
        }
    }
}

/// Where a gateway shall keep the phone registered, and with what (Mizutech's `X-` headers).
public struct UpstreamAccount: Equatable, Sendable {
    /// `X-PIID`: MD5(user:realm:password) in hex digits.
    public var credential: Secret?
    /// `X-Sy.Uppersrv`: host or host:port of the SIP server; empty when not said.
    public var server = ""
    /// `X-Sy.Uppersrvd`: its domain when that is another; empty when not said.
    public var domain = ""
    /// `X-Sy.Upperproxy`: a proxy on the way; empty when not said.
    public var proxy = ""

    /// Says nothing.
    public init() {}

    /// Nothing was said.
    public var isEmpty: Bool { credential == nil && server.isEmpty && domain.isEmpty && proxy.isEmpty }
}
