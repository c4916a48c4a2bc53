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
        var writer = JSONWriter()
        writer.object { object in
            for (name, value) in members {
                object.name(name)
                switch value {
                case .text(let text): object.string(text)
                case .seconds(let seconds): object.integer(seconds)
                }
            }
        }
        return writer.bytes
    }
}
