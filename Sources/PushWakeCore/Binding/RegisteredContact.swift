// SPDX-License-Identifier: MIT

/// One Contact of a REGISTER, as far as push is concerned.
public struct RegisteredContact: Equatable, Sendable {
    /// The URI as sent, without angle brackets, push parameters included.
    public var uri: String
    /// `+sip.instance` without quotes; empty when the phone sent none.
    public var instance: String
    /// `;expires` of this contact in seconds; nil when not said.
    public var expires: UInt32?
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
        uri: String, instance: String = "", expires: UInt32? = nil, refreshesItself: Bool = false, purr: String = "",
        providerName: String = "", push: PushRequest = .none
    ) {
        self.uri = uri
        self.instance = instance
        self.expires = expires
        self.refreshesItself = refreshesItself
        self.purr = purr
        self.providerName = providerName
        self.push = push
    }

    /// The tokens it binds; none unless `push` is `.bind`.
    public var bindings: [Binding] {
        if case .bind(let bindings) = push { return bindings }
        return []
    }
}
