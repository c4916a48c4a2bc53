// SPDX-License-Identifier: MIT

internal import COpenSSL

/// Makes the X.509 certificates of a small authority for one machine.
enum CertificateMaker {
    /// A self-signed authority.
    static func authority(_ key: KeyPair) throws(KeyPair.Failure) -> [UInt8] {
        try certificate(
            of: key, named: "PushWake simulator CA", issuer: nil,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
                (NID_subject_key_identifier, "hash"),
            ])
    }

    /// A server certificate for the loopback names, signed by the authority.
    static func server(
        _ key: KeyPair, names: [String], authority: [UInt8], authorityKey: KeyPair
    ) throws(KeyPair.Failure) -> [UInt8] {
        try certificate(
            of: key, named: "PushWake simulator", issuer: (authority, authorityKey),
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "serverAuth"), (NID_subject_key_identifier, "hash"),
                (NID_authority_key_identifier, "keyid"), (NID_subject_alt_name, names.joined(separator: ",")),
            ])
    }

    private static func certificate(
        of key: KeyPair, named name: String, issuer: (pem: [UInt8], key: KeyPair)?, extensions: [(Int32, String)]
    ) throws(KeyPair.Failure) -> [UInt8] {
        guard let certificate = X509_new() else { throw KeyPair.Failure("no memory") }
        defer { X509_free(certificate) }
        let signer = issuer.flatMap { read($0.pem) }
        defer { X509_free(signer) }
        let serial = Int(Int64.random(in: 1...(.max)))
        // Ten years, and valid since yesterday for clocks that differ.
        guard X509_set_version(certificate, 2) > 0, ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial) > 0,
            X509_gmtime_adj(X509_getm_notBefore(certificate), -86_400) != nil,
            X509_gmtime_adj(X509_getm_notAfter(certificate), 3_650 * 86_400) != nil,
            X509_set_pubkey(certificate, key.handle) > 0, let subject = X509_get_subject_name(certificate),
            X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, name, -1, -1, 0) > 0,
            X509_set_issuer_name(certificate, signer.map { X509_get_subject_name($0) } ?? subject) > 0
        else { throw KeyPair.Failure("cannot make a certificate") }
        for (kind, value) in extensions {
            var context = X509V3_CTX()
            X509V3_set_ctx(&context, signer ?? certificate, certificate, nil, nil, 0)
            guard let item = X509V3_EXT_conf_nid(nil, &context, kind, value) else {
                throw KeyPair.Failure("cannot make a certificate extension from \(value)")
            }
            defer { X509_EXTENSION_free(item) }
            X509_add_ext(certificate, item, -1)
        }
        guard X509_sign(certificate, issuer?.key.handle ?? key.handle, EVP_sha256()) > 0,
            let bio = BIO_new(BIO_s_mem())
        else { throw KeyPair.Failure("cannot sign a certificate") }
        defer { BIO_free(bio) }
        guard PEM_write_bio_X509(bio, certificate) > 0 else { throw KeyPair.Failure("cannot write a certificate") }
        return KeyPair.bytes(of: bio)
    }

    private static func read(_ pem: [UInt8]) -> OpaquePointer? {
        pem.withUnsafeBytes { bytes in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(bio) }
            return PEM_read_bio_X509(bio, nil, nil, nil)
        }
    }
}
