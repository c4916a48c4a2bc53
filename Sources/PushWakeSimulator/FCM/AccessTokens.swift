// SPDX-License-Identifier: MIT

/// OAuth access tokens that were handed out: what the token endpoint and FCM share.
struct AccessTokens: Sendable {
    /// More live tokens than this are not kept; the oldest goes.
    static let most = 10_000

    private var grants: [[UInt8]: Grant] = [:]
    private struct Grant: Sendable {
        let expiry: Int64
        let project: String
    }

    private var order: [[UInt8]] = []

    init() {}

    /// Makes a token for a project that expires at `expiry`, seconds since the epoch.
    mutating func issue(until expiry: Int64, for project: String) -> String {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        for _ in 0..<30 { bytes.append(UInt8.random(in: .min ... .max, using: &generator)) }
        let token = "ya29.simulated-" + Base64URL.encode(bytes)
        grants[Array(token.utf8)] = Grant(expiry: expiry, project: project)
        order.append(Array(token.utf8))
        if order.count > Self.most { grants[order.removeFirst()] = nil }
        return token
    }

    /// The project that a token was handed out for; nil when it is unknown or has expired.
    func project(of token: ArraySlice<UInt8>, now: Int64) -> String? {
        guard let grant = grants[Array(token)], now < grant.expiry else { return nil }
        return grant.project
    }

    /// Forgets all tokens, as after a key was revoked.
    mutating func revokeAll() {
        grants = [:]
        order = []
    }
}
