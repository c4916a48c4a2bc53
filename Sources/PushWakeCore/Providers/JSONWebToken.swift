// SPDX-License-Identifier: MIT

/// Puts a JSON Web Token together (RFC 7515, 7519); signing is somebody else's job.
enum JSONWebToken {
    /// One member of the header or the claims.
    enum Value {
        case text(String)
        case seconds(Int64)
    }

    /// The bytes to sign: header, dot, claims.
    static func signingInput(header: [(String, Value)], claims: [(String, Value)]) -> [UInt8] {
        var out: [UInt8] = []
        Base64URL.append(object(header), to: &out)
        out.append(UInt8(ascii: "."))
        Base64URL.append(object(claims), to: &out)
        return out
    }

    /// The token: what was signed, dot, signature.
    static func token(_ signingInput: [UInt8], signature: [UInt8]) -> [UInt8] {
        var out = signingInput
        out.append(UInt8(ascii: "."))
        Base64URL.append(signature, to: &out)
        return out
    }

    private static func object(_ members: [(String, Value)]) -> [UInt8] {
        var out: [UInt8] = [UInt8(ascii: "{")]
        for (name, value) in members {
            if out.count > 1 { out.append(UInt8(ascii: ",")) }
            JSONWriter.appendString(name, to: &out)
            out.append(UInt8(ascii: ":"))
            switch value {
            case .text(let text): JSONWriter.appendString(text, to: &out)
            case .seconds(let seconds): Decimal.append(seconds, to: &out)
            }
        }
        out.append(UInt8(ascii: "}"))
        return out
    }
}
