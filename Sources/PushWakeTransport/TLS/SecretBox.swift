// SPDX-License-Identifier: MIT

internal import COpenSSL
public import PushWakeCore

/// Seals small secrets for a file (AES-256-GCM): whoever has the file and not the key has nothing.
///
///     sealed = version(1) key(4) nonce(12) ciphertext tag(16)
///
/// `key` is the begin of the key's SHA-256, so that a secret which an earlier key sealed is still read.
public struct SecretBox: Sendable {
    private struct Key {
        let id: [UInt8]
        let bytes: [UInt8]
    }

    private let keys: [Key]
    private static let version: UInt8 = 1

    /// Takes keys of 32 bytes, the one that seals first; nil when there is none, or one has another length.
    public init?(keys: [[UInt8]]) {
        guard !keys.isEmpty, keys.allSatisfy({ $0.count == 32 }) else { return nil }
        self.keys = keys.map { Key(id: Array(Crypto.digest(.sha256, $0).prefix(4)), bytes: $0) }
    }

    /// Seals a secret for one owner, whose name must be given again to open it.
    public func seal(_ secret: Secret, for owner: String) throws(TLSError) -> [UInt8] {
        guard let key = keys.first, let context = EVP_CIPHER_CTX_new() else { throw TLSError("AES-256-GCM") }
        defer { EVP_CIPHER_CTX_free(context) }
        var plain = Array(secret.revealed.utf8)
        defer { Self.wipe(&plain) }
        let nonce = Crypto.randomBytes(12)
        let name = Array(owner.utf8)
        var out = [UInt8](repeating: 0, count: plain.count + 16)
        var tag = [UInt8](repeating: 0, count: 16)
        var count: Int32 = 0
        guard plain.count < 4096, name.count < 4096,
            EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, key.bytes, nonce) == 1,
            EVP_EncryptUpdate(context, nil, &count, name, Int32(truncatingIfNeeded: name.count)) == 1,
            EVP_EncryptUpdate(context, &out, &count, plain, Int32(truncatingIfNeeded: plain.count)) == 1,
            EVP_EncryptFinal_ex(context, &tag, &count) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag) == 1
        else { throw TLSError.drain("AES-256-GCM") }
        return [Self.version] + key.id + nonce + out.prefix(plain.count) + tag
    }

    /// Opens what was sealed for this owner; nil when no key fits, or it was altered.
    public func open(_ sealed: [UInt8], for owner: String) -> Secret? {
        guard sealed.count >= 33, sealed.count < 8192, sealed[0] == Self.version,
            let key = keys.first(where: { $0.id == Array(sealed[1..<5]) }), let context = EVP_CIPHER_CTX_new()
        else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        let nonce = Array(sealed[5..<17])
        let text = Array(sealed[17..<sealed.count - 16])
        var tag = Array(sealed.suffix(16))
        let name = Array(owner.utf8)
        var plain = [UInt8](repeating: 0, count: text.count + 16)
        defer { Self.wipe(&plain) }
        var rest = [UInt8](repeating: 0, count: 16)
        var count: Int32 = 0
        guard EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, key.bytes, nonce) == 1,
            EVP_DecryptUpdate(context, nil, &count, name, Int32(truncatingIfNeeded: name.count)) == 1,
            EVP_DecryptUpdate(context, &plain, &count, text, Int32(truncatingIfNeeded: text.count)) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag) == 1,
            EVP_DecryptFinal_ex(context, &rest, &count) == 1
        else {
            _ = TLSError.drain("")
            return nil
        }
        return Secret(String(decoding: plain.prefix(text.count), as: UTF8.self))
    }

    /// Whether the first key sealed it: what an earlier one did is to be sealed anew.
    public func isCurrent(_ sealed: [UInt8]) -> Bool {
        sealed.count >= 33 && keys.first.map { $0.id == Array(sealed[1..<5]) } ?? false
    }

    private static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
}
