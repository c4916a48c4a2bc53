// SPDX-License-Identifier: MIT

internal import COpenSSL
public import PushWakeCore

/// Primitives that Web Push, webhooks and ids need.
public enum Crypto {
    /// Bytes that nobody can guess.
    public static func randomBytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: max(0, count))
        RAND_bytes(&bytes, Int32(truncatingIfNeeded: bytes.count))
        return bytes
    }

    /// HMAC-SHA-256 (RFC 2104), 32 bytes.
    public static func hmacSHA256(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: 32)
        var count: UInt32 = 32
        // OpenSSL takes a null key for "the previous one"; an empty key needs an address.
        let key = key.isEmpty ? [0] : key
        _ = HMAC(EVP_sha256(), key, Int32(truncatingIfNeeded: key.count), message, message.count, &result, &count)
        return result
    }

    /// SHA-256 (FIPS 180-4), 32 bytes.
    public static func sha256(_ text: [UInt8]) -> [UInt8] { digest(EVP_sha256(), text, 32) }

    /// MD5 (RFC 1321; 16 bytes) or SHA-256, as digest answers of SIP and HTTP want them.
    public static func digest(_ algorithm: DigestAlgorithm, _ text: [UInt8]) -> [UInt8] {
        algorithm == .md5 ? digest(EVP_md5(), text, 16) : sha256(text)
    }

    private static func digest(_ kind: OpaquePointer?, _ text: [UInt8], _ length: Int) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: length)
        var count: UInt32 = 0
        _ = EVP_Digest(text, text.count, &result, &count, kind, nil)
        return result
    }

    /// ECDH on P-256 with a peer's uncompressed point (65 bytes), which must lie on the curve. 32 bytes.
    public static func ecdhP256(_ key: PrivateKey, peerPoint: [UInt8]) throws(TLSError) -> [UInt8] {
        guard peerPoint.count == 65, peerPoint[0] == 4, let peer = EVP_PKEY_new() else {
            throw TLSError("not an uncompressed P-256 point")
        }
        defer { EVP_PKEY_free(peer) }
        guard EVP_PKEY_copy_parameters(peer, key.pointer) == 1,
            EVP_PKEY_set1_encoded_public_key(peer, peerPoint, peerPoint.count) == 1
        else { throw TLSError.drain("not a point of P-256") }
        guard let context = EVP_PKEY_CTX_new(key.pointer, nil) else { throw TLSError.drain("ECDH") }
        defer { EVP_PKEY_CTX_free(context) }
        var result = [UInt8](repeating: 0, count: 32)
        var count = 32
        guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, peer) == 1,
            EVP_PKEY_derive(context, &result, &count) == 1, count == 32
        else { throw TLSError.drain("ECDH") }
        return result
    }

    /// What `sealAES128GCM` sealed; throws when the tag is another's.
    public static func openAES128GCM(key: [UInt8], nonce: [UInt8], _ sealed: [UInt8]) throws(TLSError) -> [UInt8] {
        guard key.count == 16, nonce.count == 12, sealed.count >= 16, sealed.count < 1 << 20 else {
            throw TLSError("AES-128-GCM: wrong length")
        }
        guard let context = EVP_CIPHER_CTX_new() else { throw TLSError.drain("AES-128-GCM") }
        defer { EVP_CIPHER_CTX_free(context) }
        let text = Array(sealed.dropLast(16))
        var tag = Array(sealed.suffix(16))
        var result = [UInt8](repeating: 0, count: text.count + 16)
        var count: Int32 = 0
        guard EVP_DecryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1,
            EVP_DecryptUpdate(context, &result, &count, text, Int32(truncatingIfNeeded: text.count)) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag) == 1
        else { throw TLSError.drain("AES-128-GCM") }
        var rest = [UInt8](repeating: 0, count: 16)
        var restCount: Int32 = 0
        guard EVP_DecryptFinal_ex(context, &rest, &restCount) == 1 else { throw TLSError.drain("AES-128-GCM") }
        return Array(result.prefix(text.count))
    }

    /// AES-128-GCM with a 12-byte nonce: ciphertext and 16-byte tag.
    public static func sealAES128GCM(key: [UInt8], nonce: [UInt8], _ plaintext: [UInt8]) throws(TLSError) -> [UInt8] {
        guard key.count == 16, nonce.count == 12, plaintext.count < 1 << 20 else {
            throw TLSError("AES-128-GCM: wrong length")
        }
        guard let context = EVP_CIPHER_CTX_new() else { throw TLSError.drain("AES-128-GCM") }
        defer { EVP_CIPHER_CTX_free(context) }
        var result = [UInt8](repeating: 0, count: plaintext.count)
        var tag = [UInt8](repeating: 0, count: 16)
        var count: Int32 = 0
        guard EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1,
            EVP_EncryptUpdate(context, &result, &count, plaintext, Int32(truncatingIfNeeded: plaintext.count)) == 1,
            EVP_EncryptFinal_ex(context, &tag, &count) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag) == 1
        else { throw TLSError.drain("AES-128-GCM") }
        return result + tag
    }
}

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
