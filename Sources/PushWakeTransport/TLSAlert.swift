// SPDX-License-Identifier: MIT

internal import COpenSSL

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
