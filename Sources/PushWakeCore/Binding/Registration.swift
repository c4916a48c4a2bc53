// SPDX-License-Identifier: MIT

/// What a REGISTER says about push, in whatever dialect.
public struct Registration: Equatable, Sendable {
    /// Key of the user at the registrar.
    public var aor: String
    /// Call-ID of the REGISTER.
    public var callID: String
    /// CSeq of the REGISTER, 0 when not known.
    public var cseq: UInt32
    /// In the order sent, `*` left out.
    public var contacts: [RegisteredContact]
    /// `Contact: *`: all contacts of the user are meant (RFC 3261, 10.2.2).
    public var isWildcard: Bool
    /// The Expires header in seconds; nil when not said or no number.
    public var expires: UInt32?
    /// Devices that want no more pushes.
    public var unbindings: [Unbinding]
    /// A proxy nearer to the phone pushes already: leave push alone (RFC 8599, 5.6.1.1).
    public var isPushedUpstream: Bool
    /// For a gateway: where and as whom to register on.
    public var upstream: UpstreamAccount
    /// What the phone calls itself; empty when not said.
    public var userAgent: String
    /// What could not be used, at most `SIPLimits.mostProblems`.
    public var problems: [Problem]

    /// A device that sent a token of `null`; empty texts say nothing about it.
    public struct Unbinding: Equatable, Sendable {
        /// `+sip.instance` without quotes.
        public var instance: String
        /// The contact URI.
        public var contact: String
        /// The Call-ID.
        public var callID: String

        /// Names a device.
        public init(instance: String, contact: String, callID: String) {
            self.instance = instance
            self.contact = contact
            self.callID = callID
        }
    }

    /// Takes every field as it is.
    public init(
        aor: String = "", callID: String = "", cseq: UInt32 = 0, contacts: [RegisteredContact] = [],
        isWildcard: Bool = false, expires: UInt32? = nil, unbindings: [Unbinding] = [],
        isPushedUpstream: Bool = false, upstream: UpstreamAccount = .init(), userAgent: String = "",
        problems: [Problem] = []
    ) {
        self.aor = aor
        self.callID = callID
        self.cseq = cseq
        self.contacts = contacts
        self.isWildcard = isWildcard
        self.expires = expires
        self.unbindings = unbindings
        self.isPushedUpstream = isPushedUpstream
        self.upstream = upstream
        self.userAgent = userAgent
        self.problems = problems
    }
}

extension Registration {
    /// All bindings of all contacts, those of contacts that are being removed included.
    public var bindings: [Binding] { contacts.flatMap(\.bindings) }

    /// Seconds asked for: the contact's own word before that of the header; nil when neither says.
    public func requestedExpires(of contact: RegisteredContact) -> UInt32? { contact.expires ?? expires }

    /// Says whether the contact is being removed from the registrar.
    public func isRemoval(_ contact: RegisteredContact) -> Bool { requestedExpires(of: contact) == 0 }

    /// Every contact is being removed.
    public var isRemoval: Bool {
        isWildcard ? expires == 0 : !contacts.isEmpty && contacts.allSatisfy { isRemoval($0) }
    }

    /// A device wants no more pushes.
    public var unbinds: Bool { !unbindings.isEmpty }

    /// Services that are asked for without a token, as named; an empty name asks for all.
    public var queries: [String] {
        contacts.compactMap { contact in
            if case .query(let provider) = contact.push { return provider }
            return nil
        }
    }

    /// RFC 8599, 5.6.1.1 lets 555 answer this REGISTER.
    public var lacksSupport: Bool { problems.contains(where: \.meansUnsupported) }
}

/// One Contact of a REGISTER, as far as push is concerned.
public struct RegisteredContact: Equatable, Sendable {
    /// The URI as sent, without angle brackets, push parameters included.
    public var uri: String
    /// `+sip.instance` without quotes; empty when the phone sent none.
    public var instance: String
    /// `;expires` of this contact in seconds; nil when not said.
    public var expires: UInt32?
    /// `reg-id`: which of its flows this is (RFC 5626, 4.2); 0 when not said.
    public var flowNumber: UInt32
    /// The phone refreshes by itself (`+sip.pnsreg`, RFC 8599, 8.5).
    public var refreshesItself: Bool
    /// `pn-purr`; empty when not said (RFC 8599, 6.1.1).
    public var purr: String
    /// `pn-provider` as the phone wrote it, for `sip.pns` of the reply; empty in other dialects.
    public var providerName: String
    /// What it wants of push.
    public var push: PushRequest
    /// Why what it says about push cannot be used; nil when it can.
    public var problem: Problem?

    /// Takes every field as it is.
    public init(
        uri: String, instance: String = "", expires: UInt32? = nil, flowNumber: UInt32 = 0,
        refreshesItself: Bool = false, purr: String = "", providerName: String = "", push: PushRequest = .none
    ) {
        self.uri = uri
        self.instance = instance
        self.expires = expires
        self.flowNumber = flowNumber
        self.refreshesItself = refreshesItself
        self.purr = purr
        self.providerName = providerName
        self.push = push
    }

    /// `flowNumber` as bindings have it. Without an instance it says nothing (RFC 5626, 6).
    public var boundFlow: UInt8 { flowNumber > 127 || instance.isEmpty ? 0 : UInt8(flowNumber) }

    /// The tokens it binds; none unless `push` is `.bind`.
    public var bindings: [Binding] {
        if case .bind(let bindings) = push { return bindings }
        return []
    }
}
