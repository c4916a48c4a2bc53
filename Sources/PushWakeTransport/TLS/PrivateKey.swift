// SPDX-License-Identifier: MIT

internal import COpenSSL

/// A private key of OpenSSL's.
public final class PrivateKey {
    let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    /// Reads a PEM key: PKCS#8 (`.p8`), PKCS#1 or SEC 1, perhaps encrypted.
    public convenience init(pem: [UInt8], password: String = "") throws(TLSError) {
        let bio = try MemoryBIO(pem)
        guard let key = copenssl_read_private_key(bio.pointer, password) else {
            throw TLSError.drain("cannot read the private key")
        }
        self.init(owning: key)
    }

    /// A copy that shares nothing with the original; nil when memory is short.
    init?(copying original: OpaquePointer) {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_PrivateKey(original, &bytes)
        defer { CRYPTO_clear_free(bytes, Int(max(0, count)), nil, 0) }
        var start = UnsafePointer(bytes)
        guard count > 0, let copy = d2i_AutoPrivateKey(nil, &start, Int(count)) else { return nil }
        pointer = copy
    }

    /// Reads a key in DER, unencrypted; nil when the bytes are none.
    convenience init?(der: [UInt8]) {
        let read = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var start = buffer.baseAddress
            return d2i_AutoPrivateKey(nil, &start, buffer.count)
        }
        guard let read else { return nil }
        self.init(owning: read)
    }

    deinit { EVP_PKEY_free(pointer) }

    /// Makes a new P-256 key.
    public static func makeP256() throws(TLSError) -> PrivateKey {
        guard let key = copenssl_make_p256() else { throw TLSError.drain("make a P-256 key") }
        return PrivateKey(owning: key)
    }

    /// Makes a new RSA key of 2048 bits.
    public static func makeRSA() throws(TLSError) -> PrivateKey {
        guard let key = copenssl_make_rsa(2048) else { throw TLSError.drain("make an RSA key") }
        return PrivateKey(owning: key)
    }

    /// Whether it can make RS256 signatures.
    public var isRSA: Bool { EVP_PKEY_get_base_id(pointer) == EVP_PKEY_RSA }
    /// Whether it can make ES256 signatures. Other curves have 256 bits too (secp256k1, brainpoolP256r1).
    public var isP256: Bool {
        guard EVP_PKEY_get_base_id(pointer) == EVP_PKEY_EC else { return false }
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        guard EVP_PKEY_get_group_name(pointer, &name, name.count, &count) == 1 else { return false }
        return name.prefix(count).map { UInt8(bitPattern: $0) }.elementsEqual("prime256v1".utf8)
    }

    /// The private key as PKCS#8 PEM, unencrypted.
    public func pem() throws(TLSError) -> [UInt8] {
        let bio = try MemoryBIO()
        guard PEM_write_bio_PKCS8PrivateKey(bio.pointer, pointer, nil, nil, 0, nil, nil) == 1 else {
            throw TLSError.drain("write the private key")
        }
        return bio.contents
    }

    /// The public half as PEM (SubjectPublicKeyInfo).
    public func publicPEM() throws(TLSError) -> [UInt8] {
        let bio = try MemoryBIO()
        guard PEM_write_bio_PUBKEY(bio.pointer, pointer) == 1 else { throw TLSError.drain("write the public key") }
        return bio.contents
    }

    /// The public point, uncompressed: 0x04 and 64 bytes for P-256. Empty for other keys.
    public func publicPoint() -> [UInt8] { Self.point(of: pointer) }

    static func point(of key: OpaquePointer) -> [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = EVP_PKEY_get1_encoded_public_key(key, &bytes)
        defer { CRYPTO_free(bytes, nil, 0) }
        guard count == 65 else { return [] }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }
}
