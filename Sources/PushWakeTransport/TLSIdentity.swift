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

    /// Reads a PKCS#12 file (`.p12`, `.pfx`).
    public convenience init(pkcs12: [UInt8], password: String) throws(TLSError) {
        let bio = try MemoryBIO(pkcs12)
        guard let box = d2i_PKCS12_bio(bio.pointer, nil) else { throw TLSError.drain("not a PKCS#12 file") }
        defer { PKCS12_free(box) }
        var key: OpaquePointer?
        var certificate: OpaquePointer?
        var stack: OpaquePointer?
        guard PKCS12_parse(box, password, &key, &certificate, &stack) == 1 else {
            throw TLSError.drain("cannot open the PKCS#12 file (wrong password?)")
        }
        let ownedKey = key.map { PrivateKey(owning: $0) }
        let ownedCertificate = certificate.map { Certificate(owning: $0) }
        defer { copenssl_free_certificates(stack) }
        let chain = (0..<copenssl_certificate_count(stack)).compactMap { index in
            copenssl_certificate_at(stack, index).map { Certificate(retaining: $0) }
        }
        guard let ownedKey, let ownedCertificate else {
            throw TLSError("the PKCS#12 file holds no certificate with a private key")
        }
        try self.init(certificate: ownedCertificate, key: ownedKey, chain: chain)
    }

    /// The end certificate.
    public var leaf: Certificate { certificate }
}
