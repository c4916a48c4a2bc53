// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeTransport

func bytes(_ hex: String) -> [UInt8] {
    var result: [UInt8] = []
    var high: UInt8?
    for character in hex {
        guard let digit = character.hexDigitValue.map({ UInt8($0) }) else { continue }
        if let first = high {
            result.append(first << 4 | digit)
            high = nil
        } else {
            high = digit
        }
    }
    return result
}

@Suite struct `Signatures` {
    let message = Array("eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJURUFNIn0".utf8)

    @Test(arguments: [Signer.Algorithm.es256, .rs256])
    func `are accepted by the public key and by no other`(algorithm: Signer.Algorithm) throws {
        func makeKey() throws -> PrivateKey {
            try algorithm == .es256 ? PrivateKey.makeP256() : PrivateKey.makeRSA()
        }
        let key = try makeKey()
        let signer = try Signer(pem: key.pem())
        let other = try SignatureVerifier(makeKey())
        #expect(signer.algorithm == algorithm)
        for _ in 0..<20 {
            let signature = try signer.sign(message)
            #expect(signature.count == (algorithm == .es256 ? 64 : 256))
            #expect(try SignatureVerifier(key).verify(signature, of: message))
            #expect(try !SignatureVerifier(key).verify(signature, of: message + [0]))
            #expect(!other.verify(signature, of: message))
        }
    }

    @Test func `with PSS are accepted by the same key with PSS alone`() throws {
        let key = try PrivateKey.makeRSA()
        let signature = try Signer(pssPEM: key.pem()).sign(message)
        #expect(signature.count == 256)
        #expect(try SignatureVerifier(pss: key).verify(signature, of: message))
        #expect(try !SignatureVerifier(pss: key).verify(signature, of: message + [0]))
        #expect(try !SignatureVerifier(key).verify(signature, of: message))
        #expect(try !SignatureVerifier(pss: PrivateKey.makeRSA()).verify(signature, of: message))
        #expect(throws: TLSError.self) { try Signer(pssPEM: PrivateKey.makeP256().pem()) }
    }

    @Test func `of sealed text are checked when it is opened`() throws {
        let (key, nonce) = (Array(repeating: UInt8(1), count: 16), Array(repeating: UInt8(2), count: 12))
        for text in [[], Array("text".utf8)] as [[UInt8]] {
            let sealed = try Crypto.sealAES128GCM(key: key, nonce: nonce, text)
            #expect(try Crypto.openAES128GCM(key: key, nonce: nonce, sealed) == text)
            var changed = sealed
            changed[0] ^= 1
            #expect(throws: TLSError.self) { try Crypto.openAES128GCM(key: key, nonce: nonce, changed) }
        }
        #expect(throws: TLSError.self) { try Crypto.openAES128GCM(key: key, nonce: nonce, [1]) }
    }

    /// RFC 7515, A.3.
    @Test func `of RFC 7515 are accepted`() throws {
        let x = bytes(
            "7FCDCE2770F6C45D4183CBEE6FDB4B7B580733357BE9EF13BACF6E3C7BD15445")
        let y = bytes("C7F144CD1BBD9B7E872CDFEDB9EEB9F4B3695D6EA90B24AD8A4623288588E5AD")
        let prefix = bytes("3059301306072A8648CE3D020106082A8648CE3D030107034200") + [4]
        let pem = Array("-----BEGIN PUBLIC KEY-----\n\(base64(prefix + x + y))\n-----END PUBLIC KEY-----\n".utf8)
        let verifier = try SignatureVerifier(publicPEM: pem)
        let jws =
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let raw: [UInt8] = [
            14, 209, 33, 83, 121, 99, 108, 72, 60, 47, 127, 21, 88, 7, 212, 2, 163, 178, 40, 3, 58, 249, 124, 126, 23,
            129, 154, 195, 22, 158, 166, 101, 197, 10, 7, 211, 140, 60, 112, 229, 216, 241, 45, 175, 8, 74, 84, 128,
            166, 101, 144, 197, 242, 147, 80, 154, 143, 63, 127, 138, 131, 163, 84, 213,
        ]
        #expect(verifier.verify(raw, of: Array(jws.utf8)))
        #expect(!verifier.verify(Array(raw.dropLast()), of: Array(jws.utf8)))
    }

    @Test(arguments: ["", "not a key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
    func `need a key that can be read`(text: String) {
        #expect { try Signer(pem: Array(text.utf8)) } throws: {
            ($0 as? TLSError)?.message.hasPrefix("cannot read the private key") == true
        }
    }

    /// Keys of the same length on other curves (SEC 1 in PEM, from the openssl command).
    @Test(arguments: [
        // secp256k1
        """
        -----BEGIN EC PRIVATE KEY-----
        MHQCAQEEIIU1bHOagjKOI8+VOgxnGphgtLp1XGiF4lDykEfDHpapoAcGBSuBBAAK
        oUQDQgAE/9VD/LqhaLC53bDPfuBdsnrDr3WQ2uBEXe4C+n86AyCMJjLYbpkElnju
        7L+ZD0vS04c+sGQMqHrVIzV3HlNmeQ==
        -----END EC PRIVATE KEY-----
        """,
        // brainpoolP256r1
        """
        -----BEGIN EC PRIVATE KEY-----
        MHgCAQEEIDUtAcPihBR1CnGs4w9I9YEI69j1pm3yRPdN0lQCbLVBoAsGCSskAwMC
        CAEBB6FEA0IABJT7MJlRtI7ixsDcZ+oYzp5faAlTtqptZA8nn8+xVUKMqWwJm93j
        s1FX3kgxKuRVhC7PfzUmn1gkXtdu1WSMXpk=
        -----END EC PRIVATE KEY-----
        """,
    ])
    func `need P-256, and no other curve of 256 bits`(text: String) throws {
        #expect(throws: TLSError("the key is neither P-256 nor RSA")) { try Signer(pem: Array(text.utf8)) }
        #expect(try PrivateKey.makeP256().isP256)
    }

    @Test(arguments: [
        ("", PrivateKeyText.empty), (" \r\n", .empty), ("MIGHAgEAMBMG", .notPEM),
        ("  -----BEGIN PRIVATE KEY-----\n", .notPEM),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", .other("PUBLIC KEY")),
        ("\u{FEFF}-----BEGIN CERTIFICATE-----\r\nAAAA\r\n", .other("CERTIFICATE")),
        ("-----BEGIN MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIB-----\n", .damaged),
        ("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n", .encrypted),
        ("-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: x\n\nAAAA\n", .encrypted),
        ("-----BEGIN PRIVATE KEY-----\\nAAAA\\n-----END PRIVATE KEY-----\\n", .escapedLineEnds),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n", .damaged), ("Bag\n-----BEGIN PRIVATE KEY-----\rAAAA", .damaged),
    ])
    func `that are none are told by what is there`(text: String, found: PrivateKeyText) {
        #expect(PrivateKeyText(Array(text.utf8)) == found)
    }

    private func base64(_ bytes: [UInt8]) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        var text = ""
        var index = 0
        while index < bytes.count {
            let left = bytes.count - index
            let group =
                Int(bytes[index]) << 16 | (left > 1 ? Int(bytes[index + 1]) << 8 : 0)
                | (left > 2 ? Int(bytes[index + 2]) : 0)
            text.append(digits[group >> 18 & 63])
            text.append(digits[group >> 12 & 63])
            text.append(left > 1 ? digits[group >> 6 & 63] : "=")
            text.append(left > 2 ? digits[group & 63] : "=")
            index += 3
        }
        return text
    }
}

@Suite struct `Crypto primitives` {
    /// RFC 4231, test cases 1, 2 and 6 (a key longer than a block).
    @Test(arguments: [
        (
            String(repeating: "0b", count: 20), "4869205468657265",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            String(repeating: "aa", count: 131),
            "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ])
    func `HMAC follows RFC 4231`(key: String, message: String, expected: String) {
        #expect(Crypto.hmacSHA256(key: bytes(key), bytes(message)) == bytes(expected))
    }

    /// NIST GCM test case 3 without associated data.
    @Test func `AES-128-GCM seals as NIST says`() throws {
        let key = bytes("feffe9928665731c6d6a8f9467308308")
        let nonce = bytes("cafebabefacedbaddecaf888")
        let plain = bytes(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"
        )
        let sealed = try Crypto.sealAES128GCM(key: key, nonce: nonce, plain)
        #expect(
            sealed
                == bytes(
                    "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f59854d5c2af327cd64a62cf35abd2ba6fab4"
                ))
    }

    @Test func `ECDH gives both sides the same secret, and refuses points off the curve`() throws {
        let (one, other) = (try PrivateKey.makeP256(), try PrivateKey.makeP256())
        let secret = try Crypto.ecdhP256(one, peerPoint: other.publicPoint())
        #expect(secret.count == 32)
        #expect(try Crypto.ecdhP256(other, peerPoint: one.publicPoint()) == secret)
        var off = other.publicPoint()
        off[64] ^= 1
        #expect(throws: TLSError.self) { try Crypto.ecdhP256(one, peerPoint: off) }
        #expect(throws: TLSError.self) { try Crypto.ecdhP256(one, peerPoint: []) }
    }
}
