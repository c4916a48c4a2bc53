// SPDX-License-Identifier: MIT

internal import CLinux
internal import COpenSSL
internal import PushWakeSystem

/// A certificate authority of one's own, for a server on loopback that clients shall verify like a real one.
public final class CertificateAuthority {
    /// The root.
    public let certificate: Certificate
    let key: PrivateKey

    /// Makes a P-256 root.
    public init(name: String = "PushWake Test CA", days: Int = 3650) throws(TLSError) {
        key = try PrivateKey.makeP256()
        certificate = try Self.make(
            subject: name, key: key, issuer: nil, issuerKey: key, days: days,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
                (NID_subject_key_identifier, "hash"),
            ])
    }

    /// Takes a root that was written to files earlier.
    public init(certificatePEM: [UInt8], keyPEM: [UInt8]) throws(TLSError) {
        let identity = try TLSIdentity(certificatePEM: certificatePEM, keyPEM: keyPEM)
        certificate = identity.certificate
        key = identity.key
    }

    /// The root as PEM, for a `ca_file`.
    public func pem() throws(TLSError) -> [UInt8] { try certificate.pem() }

    /// The root's private key as PEM, unencrypted.
    public func keyPEM() throws(TLSError) -> [UInt8] { try key.pem() }

    /// Issues a server certificate for names and IP literals; negative `days` make one that has expired.
    public func issueServer(
        _ hosts: [String] = ["localhost", "127.0.0.1", "::1"], days: Int = 365
    ) throws(TLSError) -> IssuedIdentity {
        let names = hosts.map { SocketAddress(ip: $0, port: 0) == nil ? "DNS:\($0)" : "IP:\($0)" }
        return try issue(
            subject: hosts.first ?? "server", days: days,
            extensions: [
                (NID_subject_alt_name, names.joined(separator: ",")), (NID_ext_key_usage, "serverAuth"),
            ])
    }

    /// Issues a client certificate; `userID` becomes the subject's UID, as in Apple's push certificates.
    ///
    /// `marks` are extensions of one's own, by dotted object id, as DER; negative `days` make one that has expired.
    public func issueClient(
        _ name: String, userID: String = "", marks: [(objectID: String, der: [UInt8])] = [], days: Int = 365
    ) throws(TLSError) -> IssuedIdentity {
        try issue(
            subject: name, userID: userID, days: days, extensions: [(NID_ext_key_usage, "clientAuth")], marks: marks)
    }

    init(_ certificate: Certificate, _ key: PrivateKey) {
        self.certificate = certificate
        self.key = key
    }

    /// A new certificate with its key, both in memory and as PEM.
    public struct IssuedIdentity {
        /// For a TLS context.
        public let identity: TLSIdentity
        /// The certificate alone.
        public let certificatePEM: [UInt8]
        /// PKCS#8, unencrypted.
        public let keyPEM: [UInt8]
    }

    private func issue(
        subject: String, userID: String = "", days: Int, extensions: [(Int32, String)],
        marks: [(objectID: String, der: [UInt8])] = []
    ) throws(TLSError) -> IssuedIdentity {
        let leafKey = try PrivateKey.makeP256()
        let leaf = try Self.make(
            subject: subject, userID: userID, key: leafKey, issuer: certificate, issuerKey: key, days: days,
            extensions: [(NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "digitalSignature")]
                + extensions, marks: marks)
        return IssuedIdentity(
            identity: try TLSIdentity(certificate: leaf, key: leafKey, chain: []), certificatePEM: try leaf.pem(),
            keyPEM: try leafKey.pem())
    }

    static func make(
        subject: String, userID: String = "", key: PrivateKey, issuer: Certificate?, issuerKey: PrivateKey, days: Int,
        extensions: [(Int32, String)], marks: [(objectID: String, der: [UInt8])] = []
    ) throws(TLSError) -> Certificate {
        guard let pointer = X509_new() else { throw TLSError.drain("make a certificate") }
        let made = Certificate(owning: pointer)
        X509_set_version(pointer, 2)
        setSerial(pointer)
        // Valid from a day ago: clocks differ. A certificate that shall have expired starts before its end.
        X509_gmtime_adj(X509_getm_notBefore(pointer), min(-86_400, days * 86_400 - 86_400))
        X509_gmtime_adj(X509_getm_notAfter(pointer), days * 86_400)
        X509_set_pubkey(pointer, key.pointer)
        guard let name = X509_get_subject_name(pointer) else { throw TLSError.drain("make a certificate") }
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_FLAG | 0, subject, -1, -1, 0)
        if !userID.isEmpty { X509_NAME_add_entry_by_txt(name, "UID", MBSTRING_FLAG | 0, userID, -1, -1, 0) }
        X509_set_issuer_name(pointer, issuer.flatMap { X509_get_subject_name($0.pointer) } ?? name)

        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer?.pointer ?? pointer, pointer, nil, nil, 0)
        for (nid, value) in extensions {
            guard let added = X509V3_EXT_conf_nid(nil, &context, nid, value) else {
                throw TLSError.drain("make the certificate extension \(value)")
            }
            X509_add_ext(pointer, added, -1)
            X509_EXTENSION_free(added)
        }
        for mark in marks { try add(mark.objectID, mark.der, to: pointer) }
        guard X509_sign(pointer, issuerKey.pointer, EVP_sha256()) > 0 else {
            throw TLSError.drain("sign a certificate")
        }
        return made
    }

    private static func add(_ objectID: String, _ der: [UInt8], to certificate: OpaquePointer) throws(TLSError) {
        guard let object = OBJ_txt2obj(objectID, 1), let value = ASN1_OCTET_STRING_new() else {
            throw TLSError.drain("make the certificate extension \(objectID)")
        }
        defer {
            ASN1_OBJECT_free(object)
            ASN1_OCTET_STRING_free(value)
        }
        guard ASN1_OCTET_STRING_set(value, der, Int32(clamping: der.count)) == 1,
            let made = X509_EXTENSION_create_by_OBJ(nil, object, 0, value)
        else { throw TLSError.drain("make the certificate extension \(objectID)") }
        X509_add_ext(certificate, made, -1)
        X509_EXTENSION_free(made)
    }

    private static func setSerial(_ certificate: OpaquePointer) {
        var bytes = Crypto.randomBytes(16)
        bytes[0] = bytes[0] & 0x3F | 0x40
        guard let number = BN_bin2bn(bytes, 16, nil) else { return }
        BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate))
        BN_free(number)
    }
}
