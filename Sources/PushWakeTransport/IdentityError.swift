// SPDX-License-Identifier: MIT

/// Why bytes are no certificate with its private key.
public enum IdentityError: Error, Equatable, Sendable {
    /// It is encrypted, and the password does not open it.
    case wrongPassword
    /// It is encrypted as macOS and old tools do it (RC2, DES), and OpenSSL's legacy provider is not installed.
    case oldEncryption
    case noCertificate
    case noKey
    /// None of the certificates belongs to the private key.
    case keyDoesNotMatch
    /// OpenSSL's words.
    case unreadable(String)
}
