// SPDX-License-Identifier: MIT

/// The signature that tells a webhook's receiver that a request is genuine and fresh:
/// `x-pushwake-signature: t=<seconds>,v1=<hex HMAC-SHA-256 of "<seconds>.<body>">`, with path and query in place
/// of a body that is empty.
public enum WebhookCredential {
    /// Field that carries time and signature.
    public static let headerName = "x-pushwake-signature"
    /// Names the push, the same in every attempt: who has seen it before need not show it again.
    public static let idHeaderName = "x-pushwake-id"
    /// Bytes below which a secret can be guessed.
    public static let shortestSecret = 16

    /// The bytes to authenticate with the shared secret; `now` in seconds since 1970.
    public static func signingInput(_ body: [UInt8], now: Int64) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(body.count + 24)
        Decimal.append(now, to: &out)
        out.append(ASCII.dot)
        out += body
        return out
    }

    /// The value of the field for an authentication code of 32 bytes.
    public static func headerValue(_ code: [UInt8], now: Int64) -> [UInt8] {
        var out = Array("t=".utf8)
        Decimal.append(now, to: &out)
        out += Array(",v1=".utf8)
        out += Array(Hex.encode(code).utf8)
        return out
    }
}
