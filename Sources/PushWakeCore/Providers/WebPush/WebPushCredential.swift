// SPDX-License-Identifier: MIT

/// VAPID (RFC 8292): says to push services who sends. One signature per service and half a day, not per push.
public struct WebPushCredential: ~Copyable {
    /// What to do before a push goes out.
    public enum Action: Equatable, Sendable {
        /// Send with this `authorization` value.
        case use([UInt8])
        /// Sign these bytes with the key (ES256, raw r and s) and call `signed`.
        case sign([UInt8])
    }

    private struct Token {
        let authorization: [UInt8]
        let signedAt: Int64
    }

    /// Seconds that a token says it is good for; RFC 8292, 2 allows 24 hours.
    private static let lifetime: Int64 = 43_200
    /// Seconds that it is used.
    private static let useFor: Int64 = 39_600
    /// Services are named by phones: past this many the memory starts anew.
    private static let mostOrigins = 256

    private let publicKey: String
    private let subject: String
    private var tokens: [HTTPOrigin: Token] = [:]

    /// `publicKey` is the uncompressed point, 65 bytes; `subject` a `mailto:` or `https:` URI, which some services
    /// insist on.
    public init(publicKey: [UInt8], subject: String) {
        self.publicKey = Base64URL.encode(publicKey)
        self.subject = subject
    }

    /// Says what a push to a service needs at `now` (seconds since 1970).
    public func authorization(for origin: HTTPOrigin, now: Int64) -> Action {
        if let token = tokens[origin] {
            let age = now - token.signedAt
            if age >= -60, age < Self.useFor { return .use(token.authorization) }
        }
        let audience = "https://\(origin.authority)"
        var claims: [(String, JSONWebToken.Value)] = [
            ("aud", .text(audience)), ("exp", .seconds(now.addingReportingOverflow(Self.lifetime).partialValue)),
        ]
        if !subject.isEmpty { claims.append(("sub", .text(subject))) }
        return .sign(
            JSONWebToken.signingInput(header: [("typ", .text("JWT")), ("alg", .text("ES256"))], claims: claims))
    }

    /// Takes the signature of `signingInput`, 64 bytes, and returns the `authorization` value to send with.
    public mutating func signed(
        _ signingInput: [UInt8], signature: [UInt8], for origin: HTTPOrigin, now: Int64
    ) -> [UInt8] {
        var value = Array("vapid t=".utf8)
        value += JSONWebToken.token(signingInput, signature: signature)
        value += Array(", k=".utf8)
        value += Array(publicKey.utf8)
        if tokens.count >= Self.mostOrigins { tokens.removeAll(keepingCapacity: true) }
        tokens[origin] = Token(authorization: value, signedAt: now)
        return value
    }

    /// The service refused the token: the next push gets a new one.
    public mutating func refused(by origin: HTTPOrigin) { tokens[origin] = nil }
}
