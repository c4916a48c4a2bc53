// SPDX-License-Identifier: MIT

internal import COpenSSL

/// What OpenSSL refused, in its own words.
public struct TLSError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was tried and what OpenSSL says.
    public let message: String

    /// Wraps a text of our own.
    public init(_ message: String) { self.message = message }

    /// The message.
    public var description: String { message }

    /// Takes the oldest error of OpenSSL's queue, and empties the queue: a left-over would be blamed on the next call.
    static func drain(_ operation: String) -> TLSError {
        var reason = ""
        while true {
            let code = ERR_get_error()
            guard code != 0 else { break }
            guard reason.isEmpty else { continue }
            if let text = ERR_reason_error_string(code) {
                reason = String(cString: text)
            } else {
                reason = "error \(String(code, radix: 16))"
            }
        }
        return TLSError(reason.isEmpty ? operation : "\(operation): \(reason)")
    }
}

/// Alerts by which a server refuses a client's certificate (RFC 8446, 6.2). With TLS 1.3 they come after the handshake
/// has ended for the client.
enum TLSAlert: UInt8 {
    case badCertificate = 42
    case unsupportedCertificate = 43
    case certificateRevoked = 44
    case certificateExpired = 45
    case certificateUnknown = 46
    case unknownCA = 48
    case accessDenied = 49
    case decryptError = 51
    case certificateRequired = 116

    /// The peer's alert that OpenSSL has just met, if it is one of these; leaves the error where it is.
    static func pending() -> TLSAlert? {
        let code = ERR_peek_error()
        // The peer's alerts are errors of the SSL library from 1000 on (ssl.h, SSL_AD_REASON_OFFSET).
        guard code >> 23 & 0xFF == 20 else { return nil }
        return UInt8(exactly: Int(code & 0x7F_FFFF) - 1000).flatMap(TLSAlert.init)
    }

    /// As RFC 8446 writes it.
    var name: String {
        switch self {
        case .badCertificate: "bad_certificate"
        case .unsupportedCertificate: "unsupported_certificate"
        case .certificateRevoked: "certificate_revoked"
        case .certificateExpired: "certificate_expired"
        case .certificateUnknown: "certificate_unknown"
        case .unknownCA: "unknown_ca"
        case .accessDenied: "access_denied"
        case .decryptError: "decrypt_error"
        case .certificateRequired: "certificate_required"
        }
    }
}

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
