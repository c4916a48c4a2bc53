// SPDX-License-Identifier: MIT

/// What a payload for one subscription is encrypted with (RFC 8291, 2).
struct WebPushKeys {
    /// `keys.p256dh`: an uncompressed P-256 point, 65 bytes.
    let publicKey: [UInt8]
    /// `keys.auth`: 16 bytes.
    let secret: [UInt8]

    private static let pointLength = 65
    private static let uncompressed: UInt8 = 4
    private static let secretLength = 16

    /// Reads both from base64url, or from base64 as `btoa()` in a browser makes it; nil when they cannot be such
    /// keys. Whether the point is on the curve shows when it is used.
    init?(p256dh: String, auth: String) {
        guard let publicKey = Self.publicKey(p256dh), let secret = Self.secret(auth) else { return nil }
        self.publicKey = publicKey
        self.secret = secret
    }

    /// The attributes of a phone without keys that cannot be used; its pushes are empty then.
    static func checked(_ attributes: Binding.Attributes, warnings: inout [Problem]) -> Binding.Attributes {
        let (point, auth) = (attributes[.publicKey], attributes[.authSecret])
        if point == nil && auth == nil { return attributes }
        if let point, let auth, WebPushKeys(p256dh: point, auth: auth) != nil { return attributes }
        if point.flatMap(publicKey) == nil {
            warnings.append(
                problem(.publicKey, point == nil, "is not a P-256 point of 65 bytes in base64url; send keys.p256dh"))
        }
        if auth.flatMap(secret) == nil {
            warnings.append(problem(.authSecret, auth == nil, "is not 16 bytes in base64url; send keys.auth"))
        }
        var rest = attributes
        rest[.publicKey] = nil
        rest[.authSecret] = nil
        return rest
    }

    private static func problem(_ name: PushParameterName, _ isMissing: Bool, _ text: String) -> Problem {
        let missing = "is missing: the push is empty without both keys; send it too"
        return Problem(.badCredential, name.rawValue, isMissing ? missing : "\(text); the push is empty")
    }

    private static func publicKey(_ text: String) -> [UInt8]? {
        guard let bytes = decode(text), bytes.count == pointLength, bytes.first == uncompressed else { return nil }
        return bytes
    }

    private static func secret(_ text: String) -> [UInt8]? {
        guard let bytes = decode(text), bytes.count == secretLength else { return nil }
        return bytes
    }

    private static func decode(_ text: String) -> [UInt8]? {
        let bytes = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        return Base64URL.decode(String(decoding: bytes, as: UTF8.self))
    }
}
