// SPDX-License-Identifier: MIT

internal import COpenSSL
internal import PushWakeCore

extension TLSIdentity {
    /// Reads a certificate and its key in whatever form they come: PKCS#12, or PEM in any order, or a certificate in
    /// PEM or DER with its key in `keyFile`, which may be PEM or DER too. The bytes tell the form, not a file name.
    public static func read(
        _ bytes: [UInt8], keyFile: [UInt8]? = nil, password: String
    ) throws(IdentityError) -> TLSIdentity {
        if !isPEM(bytes), let box = try PKCS12Content.read(bytes, password: password) {
            return try join(box.certificates, box.key)
        }
        let certificates = Certificate.any(in: bytes)
        let keyText = keyFile ?? bytes
        guard !certificates.isEmpty else {
            throw contains(bytes, "-----BEGIN") || keyFile != nil
                ? .noCertificate : .unreadable("it is neither PKCS#12 nor PEM nor DER")
        }
        guard keyFile != nil || contains(bytes, "PRIVATE KEY-----") else { throw .noKey }
        return try join(certificates, PrivateKey.read(keyText, password: password))
    }

    /// Finds the certificate that the key belongs to; the others are its chain.
    private static func join(_ certificates: [Certificate], _ key: PrivateKey) throws(IdentityError) -> TLSIdentity {
        guard !certificates.isEmpty else { throw .noCertificate }
        let own = certificates.firstIndex { X509_check_private_key($0.pointer, key.pointer) == 1 }
        _ = TLSError.drain("")
        guard let own else { throw .keyDoesNotMatch }
        var chain = certificates
        let leaf = chain.remove(at: own)
        // A root need not be sent, and another end certificate must not be.
        chain.removeAll { !$0.isAuthority || $0.isSelfIssued }
        do throws(TLSError) {
            return try TLSIdentity(certificate: leaf, key: key, chain: chain)
        } catch {
            throw .keyDoesNotMatch
        }
    }

    fileprivate static func isPEM(_ bytes: [UInt8]) -> Bool { contains(bytes, "-----BEGIN ") }

    static func contains(_ bytes: [UInt8], _ text: StaticString) -> Bool {
        let wanted = Array(text.description.utf8)
        guard bytes.count >= wanted.count else { return false }
        return (0...(bytes.count - wanted.count)).contains { start in
            bytes[start] == wanted[0] && bytes[start..<(start + wanted.count)].elementsEqual(wanted)
        }
    }
}

extension Certificate {
    /// All certificates of a PEM text, or the one of a DER file; those that are broken are left out.
    public static func any(in bytes: [UInt8]) -> [Certificate] {
        if TLSIdentity.isPEM(bytes) { return (try? all(inPEM: bytes)) ?? [] }
        return Certificate(der: bytes).map { [$0] } ?? []
    }
}

extension PrivateKey {
    /// Reads a key in PEM or DER.
    fileprivate static func read(_ bytes: [UInt8], password: String) throws(IdentityError) -> PrivateKey {
        guard TLSIdentity.isPEM(bytes) else {
            guard let key = PrivateKey(der: bytes) else { throw .unreadable(TLSError.drain("the key").message) }
            return key
        }
        guard TLSIdentity.contains(bytes, "PRIVATE KEY-----") else { throw .noKey }
        do throws(TLSError) {
            return try PrivateKey(pem: bytes, password: password)
        } catch {
            guard TLSIdentity.contains(bytes, "ENCRYPTED") else { throw .unreadable(error.message) }
            guard let legacy = LegacyOpenSSL() else {
                throw error.message.hasSuffix("unsupported") ? .oldEncryption : .wrongPassword
            }
            guard let bio = try? MemoryBIO(bytes),
                let old = copenssl_read_private_key_in(bio.pointer, password, legacy.context)
            else {
                _ = TLSError.drain("")
                throw .wrongPassword
            }
            defer { EVP_PKEY_free(old) }
            guard let key = PrivateKey(copying: old) else { throw .unreadable(TLSError.drain("the key").message) }
            return key
        }
    }
}

/// What was in a PKCS#12 file.
private struct PKCS12Content {
    let key: PrivateKey
    let certificates: [Certificate]

    private enum Attempt {
        case opened(PKCS12Content)
        case failed(IdentityError)
    }

    /// Nil when the bytes are no PKCS#12 at all.
    static func read(_ bytes: [UInt8], password: String) throws(IdentityError) -> PKCS12Content? {
        guard let first = attempt(bytes, password, in: nil) else { return nil }
        switch first {
        case .opened(let content): return content
        case .failed(.oldEncryption): break
        case .failed(let error): throw error
        }
        guard let legacy = LegacyOpenSSL() else { throw .oldEncryption }
        switch attempt(bytes, password, in: legacy) {
        case .opened(let content): return content
        case .failed(.oldEncryption): throw .unreadable("it is encrypted with a cipher that OpenSSL does not know")
        case .failed(let error): throw error
        case nil: return nil
        }
    }

    private static func attempt(_ bytes: [UInt8], _ password: String, in legacy: LegacyOpenSSL?) -> Attempt? {
        var box = legacy.flatMap { PKCS12_init_ex(NID_pkcs7_data, $0.context, nil) }
        guard let bio = try? MemoryBIO(bytes), d2i_PKCS12_bio(bio.pointer, &box) != nil, let box else {
            _ = TLSError.drain("")
            return nil
        }
        defer { PKCS12_free(box) }
        var key: OpaquePointer?
        var leaf: OpaquePointer?
        var stack: OpaquePointer?
        // A MAC need not be there (RFC 7292, 4), and OpenSSL reads no file without one.
        if PKCS12_mac_present(box) == 0 { PKCS12_set_mac(box, password, -1, nil, 0, 1, EVP_sha256()) }
        func parse() -> Int32 { PKCS12_parse(box, password, &key, &leaf, &stack) }
        // OpenSSL 3.0 looks for the key's cipher in the default context, whatever context the file was read in.
        guard (legacy?.asDefault(parse) ?? parse()) == 1 else { return .failed(failure()) }
        defer {
            EVP_PKEY_free(key)
            X509_free(leaf)
            copenssl_free_certificates(stack)
        }
        let others = (0..<copenssl_certificate_count(stack)).compactMap { copenssl_certificate_at(stack, $0) }
        // Copies: what was read in the context of the old ciphers must not outlive it.
        let certificates = ([leaf].compactMap(\.self) + others).compactMap { Certificate(copying: $0) }
        guard let key, let copy = PrivateKey(copying: key) else { return .failed(.noKey) }
        return .opened(PKCS12Content(key: copy, certificates: certificates))
    }

    private static func failure() -> IdentityError {
        var text = ""
        var isUnsupported = false
        while true {
            let code = ERR_get_error()
            guard code != 0 else { break }
            switch copenssl_pkcs12_failure(code) {
            case 1: return drained(.wrongPassword)
            case 2: isUnsupported = true
            default: break
            }
            if text.isEmpty, let reason = ERR_reason_error_string(code) { text = String(cString: reason) }
        }
        return isUnsupported ? .oldEncryption : .unreadable(text)
    }

    private static func drained(_ error: IdentityError) -> IdentityError {
        _ = TLSError.drain("")
        return error
    }
}
