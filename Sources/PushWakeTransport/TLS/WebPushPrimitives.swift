// SPDX-License-Identifier: MIT

internal import COpenSSL
public import PushWakeCore

/// OpenSSL's primitives, as RFC 8291 puts them together: a new key and a new salt for each message.
public struct WebPushPrimitives: WebPushCrypto {
    private let makeKey: () -> PrivateKey?
    private let makeSalt: () -> [UInt8]?

    /// Random keys and salts.
    public init() { self.init(makeKey: { try? PrivateKey.makeP256() }, makeSalt: Self.randomSalt) }

    /// Takes keys and salts from elsewhere, such as the example of an RFC.
    init(makeKey: @escaping () -> PrivateKey?, makeSalt: @escaping () -> [UInt8]?) {
        self.makeKey = makeKey
        self.makeSalt = makeSalt
    }

    public func agree(with peer: [UInt8]) -> (publicKey: [UInt8], secret: [UInt8])? {
        guard let key = makeKey(), let secret = try? Crypto.ecdhP256(key, peerPoint: peer) else { return nil }
        return (key.publicPoint(), secret)
    }

    public func salt() -> [UInt8]? { makeSalt() }

    public func hmac(key: [UInt8], _ data: [UInt8]) -> [UInt8]? { Crypto.hmacSHA256(key: key, data) }

    public func seal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        try? Crypto.sealAES128GCM(key: key, nonce: nonce, plaintext)
    }

    private static func randomSalt() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        return RAND_bytes(&bytes, 16) == 1 ? bytes : nil
    }
}
