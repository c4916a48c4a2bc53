// SPDX-License-Identifier: MIT

internal import COpenSSL

/// An X.509 certificate.
public final class Certificate {
    let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    init(retaining pointer: OpaquePointer) {
        X509_up_ref(pointer)
        self.pointer = pointer
    }

    /// A copy that shares nothing with the original; nil when memory is short.
    init?(copying original: OpaquePointer) {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(original, &bytes)
        defer { CRYPTO_free(bytes, nil, 0) }
        var start = UnsafePointer(bytes)
        guard count > 0, let copy = d2i_X509(nil, &start, Int(count)) else { return nil }
        pointer = copy
    }

    /// Reads one certificate in DER; nil when the bytes are none.
    public init?(der: [UInt8]) {
        let read = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var start = buffer.baseAddress
            return d2i_X509(nil, &start, buffer.count)
        }
        guard let read else {
            _ = TLSError.drain("")
            return nil
        }
        pointer = read
    }

    deinit { X509_free(pointer) }

    /// All certificates of a PEM text, in order; none is not an error.
    public static func all(inPEM text: [UInt8]) throws(TLSError) -> [Certificate] {
        let bio = try MemoryBIO(text)
        var found: [Certificate] = []
        while found.count < 1024, let next = PEM_read_bio_X509(bio.pointer, nil, nil, nil) {
            found.append(Certificate(owning: next))
        }
        // The end of the text is an error in OpenSSL's eyes.
        _ = TLSError.drain("")
        return found
    }

    /// Seconds since 1970 after which it is no longer valid.
    public var expiresAt: Int64 { Self.seconds(X509_get0_notAfter(pointer)) }

    /// Seconds since 1970 from which it is valid.
    public var validFrom: Int64 { Self.seconds(X509_get0_notBefore(pointer)) }

    /// Whether it may issue others.
    public var isAuthority: Bool { X509_check_ca(pointer) != 0 }

    /// Whether it says that a client may show it, or says nothing: one that signs software may not (RFC 5280, 4.2.1.12).
    public var mayIdentifyClients: Bool {
        X509_get_extended_key_usage(pointer) & UInt32(XKU_SSL_CLIENT | XKU_ANYEKU) != 0
    }

    /// Whether subject and issuer are the same, as with a root.
    public var isSelfIssued: Bool {
        X509_NAME_cmp(X509_get_subject_name(pointer), X509_get_issuer_name(pointer)) == 0
    }

    /// Whether another certificate's key has signed this one.
    public func isSigned(by issuer: Certificate) -> Bool {
        defer { _ = TLSError.drain("") }
        guard let key = X509_get0_pubkey(issuer.pointer) else { return false }
        return X509_verify(pointer, key) == 1
    }

    /// Whether both are the same certificate.
    public func isSame(as other: Certificate) -> Bool { X509_cmp(pointer, other.pointer) == 0 }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard let epoch = ASN1_TIME_set(nil, 0) else { return 0 }
        defer { ASN1_TIME_free(epoch) }
        guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return 0 }
        return Int64(days) * 86_400 + Int64(seconds)
    }

    /// The subject's value under a short name: `CN`, `UID`, `OU`; nil when there is none.
    public func subject(_ name: String) -> String? { Self.value(name, in: X509_get_subject_name(pointer)) }

    /// The same of who issued it.
    public func issuer(_ name: String) -> String? { Self.value(name, in: X509_get_issuer_name(pointer)) }

    private static func value(_ name: String, in owner: OpaquePointer?) -> String? {
        let nid = OBJ_txt2nid(name)
        guard nid != NID_undef, let owner else { return nil }
        var text = [CChar](repeating: 0, count: 256)
        let count = X509_NAME_get_text_by_NID(owner, nid, &text, Int32(text.count))
        guard count >= 0 else { return nil }
        return String(decoding: text.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// DER content of the extension with a dotted object id, such as Apple's topics; nil when there is none.
    public func extensionValue(_ objectID: String) -> [UInt8]? {
        guard let object = OBJ_txt2obj(objectID, 1) else { return nil }
        defer { ASN1_OBJECT_free(object) }
        let index = X509_get_ext_by_OBJ(pointer, object, -1)
        guard index >= 0, let found = X509_get_ext(pointer, index), let value = X509_EXTENSION_get_data(found) else {
            return nil
        }
        return Array(
            UnsafeBufferPointer(start: ASN1_STRING_get0_data(value), count: Int(max(0, ASN1_STRING_length(value)))))
    }

    /// As DER.
    public func der() throws(TLSError) -> [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(pointer, &bytes)
        defer { CRYPTO_free(bytes, nil, 0) }
        guard count > 0 else { throw TLSError.drain("write the certificate") }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// As PEM.
    public func pem() throws(TLSError) -> [UInt8] {
        let bio = try MemoryBIO()
        guard PEM_write_bio_X509(bio.pointer, pointer) == 1 else { throw TLSError.drain("write the certificate") }
        return bio.contents
    }
}
