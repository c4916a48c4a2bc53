// SPDX-License-Identifier: MIT

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
