// SPDX-License-Identifier: MIT

internal import COpenSSL

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

    deinit { EVP_PKEY_free(key) }

    /// Whether the signature, in the form of JWS, is this key's over the message.
    public func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let encoded = algorithm == .es256 ? ECDSASignature.der(fromRaw: signature) : signature,
            let context = EVP_MD_CTX_new()
        else { return false }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
        let result = EVP_DigestVerify(context, encoded, encoded.count, message, message.count)
        if result != 1 { _ = TLSError.drain("") }
        return result == 1
    }
}
