// SPDX-License-Identifier: MIT

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
