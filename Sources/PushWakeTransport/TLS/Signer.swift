// SPDX-License-Identifier: MIT

internal import COpenSSL

/// Signs with a private key: ES256 with P-256, RS256 or PS256 with RSA (RFC 7518, 3.1).
public final class Signer {
    /// Names of JOSE.
    public enum Algorithm: String, Sendable {
        case es256 = "ES256"
        case rs256 = "RS256"
        case ps256 = "PS256"
    }

    /// Follows from the key, but for PS256.
    public let algorithm: Algorithm
    /// Signs; its public half verifies.
    public let key: PrivateKey

    /// Takes a P-256 or RSA key.
    public init(_ key: PrivateKey) throws(TLSError) {
        if key.isP256 {
            algorithm = .es256
        } else if key.isRSA {
            algorithm = .rs256
        } else {
            throw TLSError("the key is neither P-256 nor RSA")
        }
        self.key = key
    }

    /// Reads the key from PEM text.
    public convenience init(pem: [UInt8], password: String = "") throws(TLSError) {
        try self.init(PrivateKey(pem: pem, password: password))
    }

    /// Reads an RSA key that is to make PS256 signatures.
    public init(pssPEM pem: [UInt8]) throws(TLSError) {
        key = try PrivateKey(pem: pem)
        algorithm = .ps256
        guard key.isRSA else { throw TLSError("the key is not an RSA key") }
    }

    /// The signature as JWS has it: r and s of 32 bytes each for ES256, PKCS#1 v1.5 for RS256, PSS with a salt as long
    /// as the hash for PS256.
    public func sign(_ message: [UInt8]) throws(TLSError) -> [UInt8] {
        // An RSA key that has signed keeps its primes once more, in memory that a core file has: a copy takes them with it.
        guard let once = EVP_PKEY_dup(key.pointer) else { throw TLSError.drain("sign") }
        defer { EVP_PKEY_free(once) }
        guard let context = EVP_MD_CTX_new() else { throw TLSError.drain("sign") }
        defer { EVP_MD_CTX_free(context) }
        var options: OpaquePointer?
        guard EVP_DigestSignInit(context, &options, EVP_sha256(), nil, once) == 1,
            algorithm != .ps256 || copenssl_use_pss(options) == 1
        else { throw TLSError.drain("sign") }
        var signature = [UInt8](repeating: 0, count: 1024)
        var count = signature.count
        guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else {
            throw TLSError.drain("sign")
        }
        let encoded = Array(signature.prefix(count))
        return algorithm == .es256 ? try ECDSASignature.raw(fromDER: encoded) : encoded
    }

    /// Signs the UTF-8 bytes of a text.
    public func sign(_ text: String) throws(TLSError) -> [UInt8] { try sign(Array(text.utf8)) }
}

/// OpenSSL writes ECDSA signatures as DER, JOSE as two numbers of 32 bytes.
enum ECDSASignature {
    static func raw(fromDER der: [UInt8]) throws(TLSError) -> [UInt8] {
        let parsed = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var start = buffer.baseAddress
            return d2i_ECDSA_SIG(nil, &start, buffer.count)
        }
        guard let parsed else { throw TLSError.drain("read a signature") }
        defer { ECDSA_SIG_free(parsed) }
        var raw = [UInt8](repeating: 0, count: 64)
        let isComplete = raw.withUnsafeMutableBufferPointer { buffer -> Bool in
            guard let base = buffer.baseAddress else { return false }
            return BN_bn2binpad(ECDSA_SIG_get0_r(parsed), base, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(parsed), base + 32, 32) == 32
        }
        guard isComplete else { throw TLSError.drain("read a signature") }
        return raw
    }

    static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 64 else { return nil }
        // Two INTEGERs: a leading zero keeps them positive, other leading zeros are not allowed (X.690, 8.3).
        func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var digits = Array(bytes.drop { $0 == 0 })
            if digits.first.map({ $0 & 0x80 != 0 }) ?? true { digits.insert(0, at: 0) }
            return [0x02, UInt8(truncatingIfNeeded: digits.count)] + digits
        }
        let content = integer(raw[0..<32]) + integer(raw[32..<64])
        return [0x30, UInt8(truncatingIfNeeded: content.count)] + content
    }
}

/// Checks signatures with a public key.
public final class SignatureVerifier {
    private let key: OpaquePointer
    /// Follows from the key.
    public let algorithm: Signer.Algorithm

    /// Takes the public half of a private key.
    public convenience init(_ key: PrivateKey) throws(TLSError) {
        try self.init(publicPEM: key.publicPEM())
    }

    /// Reads a PEM public key (SubjectPublicKeyInfo).
    public init(publicPEM: [UInt8]) throws(TLSError) {
        let bio = try MemoryBIO(publicPEM)
        guard let key = PEM_read_bio_PUBKEY(bio.pointer, nil, nil, nil) else {
            throw TLSError.drain("cannot read the public key")
        }
        self.key = key
        algorithm = EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA ? .rs256 : .es256
    }

    /// Takes a P-256 point, uncompressed: 65 bytes, as VAPID's `k` has it.
    public init(point: [UInt8]) throws(TLSError) {
        // SubjectPublicKeyInfo of P-256 in DER is always these bytes and the point (RFC 5480, 2).
        let header: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
            0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
        ]
        let key = (header + point).withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var start = bytes.baseAddress
            return d2i_PUBKEY(nil, &start, bytes.count)
        }
        guard point.count == 65, let key else { throw TLSError.drain("not a P-256 point") }
        self.key = key
        algorithm = .es256
    }

    /// Takes the public half of an RSA key whose signatures are PS256.
    public init(pss key: PrivateKey) throws(TLSError) {
        let bio = try MemoryBIO(key.publicPEM())
        guard key.isRSA, let key = PEM_read_bio_PUBKEY(bio.pointer, nil, nil, nil) else {
            throw TLSError.drain("cannot read the public key")
        }
        self.key = key
        algorithm = .ps256
    }

    deinit { EVP_PKEY_free(key) }

    /// Whether the signature, in the form of JWS, is this key's over the message.
    public func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let encoded = algorithm == .es256 ? ECDSASignature.der(fromRaw: signature) : signature,
            let context = EVP_MD_CTX_new()
        else { return false }
        defer { EVP_MD_CTX_free(context) }
        var options: OpaquePointer?
        guard EVP_DigestVerifyInit(context, &options, EVP_sha256(), nil, key) == 1,
            algorithm != .ps256 || copenssl_use_pss(options) == 1
        else { return false }
        let result = EVP_DigestVerify(context, encoded, encoded.count, message, message.count)
        if result != 1 { _ = TLSError.drain("") }
        return result == 1
    }
}
