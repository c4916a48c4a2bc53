// SPDX-License-Identifier: MIT

public import PushWakeCore

/// How a pool treats its server. Times in milliseconds.
public struct HTTPPoolConfiguration {
    /// An HTTP proxy that is asked to CONNECT.
    public struct Proxy: Equatable, Sendable {
        /// Host and port; the proxy itself is spoken to without TLS.
        public let origin: HTTPOrigin
        /// Value of `proxy-authorization`; empty: none.
        public let authorization: String

        /// Names a proxy.
        public init(_ origin: HTTPOrigin, authorization: String = "") {
            self.origin = origin
            self.authorization = authorization
        }
    }

    /// Connections at a time; another is opened only when those that stand are full.
    public var maxConnections = 1
    /// Streams per connection, if the server allows as many.
    public var maxStreams = 1000
    /// For TCP and TLS together, lookup apart.
    public var connectTimeout: Int64 = 10_000
    /// From sending to the answer.
    public var answerTimeout: Int64 = 10_000
    /// A connection is left when nothing at all has come for so long although a request waits: others go over another, and so
    /// does what may be repeated. PINGs are asked for half of that time before, where they are allowed.
    public var silence: Int64 = 2000
    /// A PING must come back before a connection is used that has been silent this long; nil: never send one (FCM).
    public var pingAfter: Int64? = 60_000
    /// Closed after so long without a request; nil: kept.
    public var closeAfter: Int64?
    /// Pause after the first failed attempt, doubled up to `longestPause`.
    public var firstPause: Int64 = 250
    /// Longest pause between attempts. A call rings for less than a minute: when the server is well again, there must
    /// be time left.
    public var longestPause: Int64 = 10_000
    /// All waiting requests fail with the first failed attempt, even if their deadlines would allow another.
    public var failsFast = false
    /// Addresses that are loopback, private or link-local count as unreachable (URLs that come from outside).
    public var refusesLocalAddresses = false
    /// A server without HTTP/2 is not the one that is meant: it does not get a request (Apple).
    public var needsHTTP2 = false
    /// What is kept of an answer.
    public var limits = HTTPAnswerLimits()
    /// Nil: connect directly.
    public var proxy: Proxy?

    /// Starts from the defaults.
    public init() {}
}
