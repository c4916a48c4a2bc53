// SPDX-License-Identifier: MIT

internal import COpenSSL

/// Signs with a private key: ES256 with P-256, RS256 with RSA (RFC 7518, 3.1).
public final class Signer {
    /// Names of JOSE.
    public enum Algorithm: String, Sendable {
        case es256 = "ES256"
        case rs256 = "RS256"
    }

    /// Follows from the key.
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

    /// The signature as JWS has it: r and s of 32 bytes each for ES256, PKCS#1 v1.5 for RS256.
    public func sign(_ message: [UInt8]) throws(TLSError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw TLSError.drain("sign") }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key.pointer) == 1 else {
            throw TLSError.drain("sign")
        }
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
