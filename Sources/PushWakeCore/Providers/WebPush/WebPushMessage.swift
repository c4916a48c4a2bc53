// SPDX-License-Identifier: MIT

/// Encrypts a payload for one subscription (RFC 8291, in the coding of RFC 8188).
///
///     salt 16 | record size 4 | 65 | our public point 65 | sealed (payload | 02)
public enum WebPushMessage {
    /// Longest payload: 4096 bytes that every service takes, less 86 of header, the delimiter and the tag.
    public static let longestPayload = 3993
    private static let recordSize: [UInt8] = [0, 0, 0x10, 0]

    /// The body of the request. `publicKey` (65 bytes) and `secret` (16) are the subscription's `p256dh` and `auth`.
    public static func encrypt(
        _ payload: [UInt8], publicKey: [UInt8], secret: [UInt8], _ crypto: some WebPushCrypto
    ) throws(PushFailure) -> [UInt8] {
        guard payload.count <= longestPayload else { throw .payloadTooLarge }
        guard publicKey.count == 65, publicKey.first == 4, secret.count == 16,
            let salt = crypto.salt(), salt.count == 16, let own = crypto.agree(with: publicKey),
            own.publicKey.count == 65,
            let keys = keys(own: own, publicKey: publicKey, secret: secret, salt: salt, crypto),
            let sealed = crypto.seal(payload + [2], key: keys.content, nonce: keys.nonce)
        else { throw .unusableKeys }
        var body: [UInt8] = []
        body.reserveCapacity(86 + sealed.count)
        body += salt
        body += recordSize
        body.append(65)
        body += own.publicKey
        body += sealed
        return body
    }

    /// RFC 8291, 3.3 and 3.4: HKDF over the shared secret, then over the salt. One block each, so HMAC will do.
    private static func keys(
        own: (publicKey: [UInt8], secret: [UInt8]), publicKey: [UInt8], secret: [UInt8], salt: [UInt8],
        _ crypto: some WebPushCrypto
    ) -> (content: [UInt8], nonce: [UInt8])? {
        let keyInfo = Array("WebPush: info\0".utf8) + publicKey + own.publicKey + [1]
        guard let combined = crypto.hmac(key: secret, own.secret),
            let material = crypto.hmac(key: combined, keyInfo),
            let extracted = crypto.hmac(key: salt, material),
            let content = crypto.hmac(key: extracted, Array("Content-Encoding: aes128gcm\0\u{1}".utf8)),
            let nonce = crypto.hmac(key: extracted, Array("Content-Encoding: nonce\0\u{1}".utf8)),
            content.count == 32, nonce.count == 32
        else { return nil }
        return (Array(content.prefix(16)), Array(nonce.prefix(12)))
    }
}

/// The primitives that RFC 8291 is made of; the transport layer has them from OpenSSL.
public protocol WebPushCrypto {
    /// Makes a P-256 key for one message and agrees with `peer`, an uncompressed point of 65 bytes: the new
    /// public point, and the shared secret of 32 bytes. Nil when `peer` is no point on the curve.
    func agree(with peer: [UInt8]) -> (publicKey: [UInt8], secret: [UInt8])?

    /// 16 random bytes.
    func salt() -> [UInt8]?

    /// HMAC-SHA-256, 32 bytes.
    func hmac(key: [UInt8], _ data: [UInt8]) -> [UInt8]?

    /// AES-128-GCM without associated data: the ciphertext, then the tag of 16 bytes.
    func seal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]?
}
