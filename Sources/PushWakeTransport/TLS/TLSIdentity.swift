// SPDX-License-Identifier: MIT

internal import COpenSSL

/// A certificate with its private key and the certificates between it and a root.
public final class TLSIdentity {
    let certificate: Certificate
    let key: PrivateKey
    let chain: [Certificate]

    init(certificate: Certificate, key: PrivateKey, chain: [Certificate]) throws(TLSError) {
        guard X509_check_private_key(certificate.pointer, key.pointer) == 1 else {
            _ = TLSError.drain("")
            throw TLSError("the private key does not belong to the certificate")
        }
        self.certificate = certificate
        self.key = key
        self.chain = chain
    }

    /// Reads a PEM certificate (its chain may follow) and a PEM private key, which may be the same text.
    public convenience init(
        certificatePEM: [UInt8], keyPEM: [UInt8], password: String = ""
    ) throws(TLSError) {
        let certificates = try Certificate.all(inPEM: certificatePEM)
        guard let first = certificates.first else { throw TLSError("no certificate in the PEM text") }
        try self.init(
            certificate: first, key: PrivateKey(pem: keyPEM, password: password),
            chain: Array(certificates.dropFirst()))
    }

    /// The end certificate.
    public var leaf: Certificate { certificate }

    /// As PKCS#12, encrypted with today's ciphers; `name` is what key stores show.
    public func pkcs12(password: String, name: String) throws(TLSError) -> [UInt8] {
        guard
            let box = PKCS12_create(password, name, key.pointer, certificate.pointer, nil, 0, 0, 0, 0, 0)
        else { throw TLSError.drain("make a PKCS#12 file") }
        defer { PKCS12_free(box) }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_PKCS12(box, &bytes)
        defer { CRYPTO_free(bytes, nil, 0) }
        guard count > 0 else { throw TLSError.drain("make a PKCS#12 file") }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// Whether both stand for the same certificate and key.
    public func isSame(as other: TLSIdentity) -> Bool {
        X509_cmp(certificate.pointer, other.certificate.pointer) == 0
            && EVP_PKEY_eq(key.pointer, other.key.pointer) == 1
    }
}
