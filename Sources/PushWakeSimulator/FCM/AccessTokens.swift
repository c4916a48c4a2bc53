// SPDX-License-Identifier: MIT

/// OAuth access tokens that were handed out: what the token endpoint and FCM share.
struct AccessTokens: Sendable {
    /// More live tokens than this are not kept; the oldest goes.
    static let most = 10_000

    private var expiries: [[UInt8]: Int64] = [:]
    private var order: [[UInt8]] = []

    init() {}

    /// Makes a token that expires at `expiry`, seconds since the epoch.
    mutating func issue(until expiry: Int64) -> String {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        for _ in 0..<30 { bytes.append(UInt8.random(in: .min ... .max, using: &generator)) }
        let token = "ya29.simulated-" + Base64URL.encode(bytes)
        expiries[Array(token.utf8)] = expiry
        order.append(Array(token.utf8))
        if order.count > Self.most { expiries[order.removeFirst()] = nil }
        return token
    }

    /// Says whether a token was handed out and has not expired.
    func isValid(_ token: ArraySlice<UInt8>, now: Int64) -> Bool {
        expiries[Array(token)].map { now < $0 } ?? false
    }

    /// Forgets all tokens, as after a key was revoked.
    mutating func revokeAll() {
        expiries = [:]
        order = []
    }
}
