// SPDX-License-Identifier: MIT

internal import COpenSSL

/// A private or public key of OpenSSL.
final class KeyPair {
    /// Why a key could not be made or read.
    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ text: String) { description = text }
    }

    let handle: OpaquePointer

    private init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { EVP_PKEY_free(handle) }

    /// Makes a key on P-256.
    static func makeP256() throws(Failure) -> KeyPair {
        guard let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil) else { throw Failure("no elliptic curves") }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) > 0,
            EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) > 0,
            EVP_PKEY_generate(context, &key) > 0, let key
        else { throw Failure("cannot make a P-256 key") }
        return KeyPair(key)
    }

    /// Makes an RSA key of 2,048 bits.
    static func makeRSA() throws(Failure) -> KeyPair {
        guard let context = EVP_PKEY_CTX_new_id(EVP_PKEY_RSA, nil) else { throw Failure("no RSA") }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) > 0, EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2_048) > 0,
            EVP_PKEY_generate(context, &key) > 0, let key
        else { throw Failure("cannot make an RSA key") }
        return KeyPair(key)
    }

    /// Reads an unencrypted private key in PEM.
    init(pem: [UInt8]) throws(Failure) {
        let key = pem.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(bio) }
            // The empty password keeps OpenSSL from asking at the terminal.
            return PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in 0 }, nil)
        }
        guard let key else { throw Failure("not a private key in PEM") }
        handle = key
    }

    /// Makes a public key from a P-256 point, 65 bytes; nil when it is not on the curve.
    init?(point: [UInt8]) {
        guard point.count == 65 else { return nil }
        // SubjectPublicKeyInfo of P-256 in DER is always these bytes and the point (RFC 5480, 2).
        let header: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
            0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
        ]
        let encoded = header + point
        let key = encoded.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var start = bytes.baseAddress
            return d2i_PUBKEY(nil, &start, bytes.count)
        }
        guard let key else { return nil }
        handle = key
    }

    /// The key in PKCS #8 PEM, as Apple and Google hand keys out.
    func pem() throws(Failure) -> [UInt8] {
        guard let bio = BIO_new(BIO_s_mem()) else { throw Failure("no memory") }
        defer { BIO_free(bio) }
        guard PEM_write_bio_PKCS8PrivateKey(bio, handle, nil, nil, 0, nil, nil) > 0 else {
            throw Failure("cannot write a key")
        }
        return Self.bytes(of: bio)
    }

    /// The public point of a P-256 key, 65 bytes.
    func point() throws(Failure) -> [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = EVP_PKEY_get1_encoded_public_key(handle, &bytes)
        guard count == 65, let bytes else { throw Failure("not a P-256 key") }
        defer { CRYPTO_free(bytes, nil, 0) }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }

    /// The private number of a P-256 key, 32 bytes.
    func scalar() throws(Failure) -> [UInt8] {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(handle, OSSL_PKEY_PARAM_PRIV_KEY, &number) > 0, let number else {
            throw Failure("not a P-256 key")
        }
        defer { BN_clear_free(number) }
        var bytes = [UInt8](repeating: 0, count: 32)
        guard BN_bn2binpad(number, &bytes, 32) == 32 else { throw Failure("not a P-256 key") }
        return bytes
    }

    /// Verifies ES256: r and s of 32 bytes each, one after the other (RFC 7518, 3.4).
    func verifyES256(_ signed: [UInt8], _ signature: [UInt8]) -> Bool {
        guard signature.count == 64, let pair = ECDSA_SIG_new() else { return false }
        defer { ECDSA_SIG_free(pair) }
        let r = BN_bin2bn(Array(signature[..<32]), 32, nil)
        let s = BN_bin2bn(Array(signature[32...]), 32, nil)
        guard ECDSA_SIG_set0(pair, r, s) > 0 else { return false }
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = i2d_ECDSA_SIG(pair, &encoded)
        guard count > 0, let encoded else { return false }
        defer { CRYPTO_free(encoded, nil, 0) }
        return verify(signed, Array(UnsafeBufferPointer(start: encoded, count: Int(count))))
    }

    /// Verifies a signature over SHA-256 in the key's own form: DER for P-256, PKCS #1 for RSA.
    func verify(_ signed: [UInt8], _ signature: [UInt8]) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle) > 0 else { return false }
        return EVP_DigestVerify(context, signature, signature.count, signed, signed.count) == 1
    }

    /// What a memory BIO holds.
    static func bytes(of bio: OpaquePointer) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = BIO_read(bio, &buffer, Int32(buffer.count))
        return Array(buffer.prefix(max(0, Int(count))))
    }
}
