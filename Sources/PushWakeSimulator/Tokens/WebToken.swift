// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// A JWT in its parts (RFC 7519); nothing in it is verified yet.
struct WebToken {
    let header: JSONValue
    let claims: JSONValue
    /// What the signature is over: header, dot, claims.
    let signed: [UInt8]
    let signature: [UInt8]

    /// Longer tokens are refused.
    static let longest = 8_192

    /// Reads `header.claims.signature`; nil when one part is not base64url or not a JSON object.
    init?(_ text: ArraySlice<UInt8>) {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard text.count <= Self.longest, parts.count == 3, let signature = Base64URL.decode(parts[2]) else {
            return nil
        }
        guard let header = Self.object(parts[0]), let claims = Self.object(parts[1]) else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signed = Array(text[..<parts[1].endIndex])
    }

    /// The signature algorithm, such as ES256.
    var algorithm: String? { header["alg"]?.string }

    /// The key id.
    var keyID: String? { header["kid"]?.string }

    private static func object(_ part: ArraySlice<UInt8>) -> JSONValue? {
        guard let bytes = Base64URL.decode(part), let value = try? JSONParser.parse(bytes), case .object = value else {
            return nil
        }
        return value
    }
}

/// Verifies a signature: ES256 as raw r and s, RS256 as PKCS #1.
typealias SignatureCheck = (_ signed: [UInt8], _ signature: [UInt8]) -> Bool

/// Device tokens whose name says how they fare, so that a test needs no script:
/// `unregistered-7`, `expired-…`, `invalid-…`, `mismatch-…`.
enum NamedToken {
    case ordinary, unregistered, expired, invalid, mismatch

    /// Reads the name; a hexadecimal token never has one.
    init(_ token: ArraySlice<UInt8>) {
        self =
            switch token.first {
            case UInt8(ascii: "u") where token.starts(with: "unregistered".utf8): .unregistered
            case UInt8(ascii: "e") where token.starts(with: "expired".utf8): .expired
            case UInt8(ascii: "i") where token.starts(with: "invalid".utf8): .invalid
            case UInt8(ascii: "m") where token.starts(with: "mismatch".utf8): .mismatch
            default: .ordinary
            }
    }
}
