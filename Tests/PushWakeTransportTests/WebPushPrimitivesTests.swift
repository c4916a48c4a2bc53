// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeTransport

@Suite struct `Web Push encryption with OpenSSL` {
    private func decoded(_ text: String) throws -> [UInt8] { try #require(PushWakeCore.Base64URL.decode(text)) }

    /// A P-256 key from its number: SEC 1's ECPrivateKey with the curve and without the point.
    private func key(_ number: [UInt8]) throws -> PrivateKey {
        let der = bytes("30310201010420") + number + bytes("a00a06082a8648ce3d030107")
        var text = PushWakeCore.Base64URL.encode(der).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        while text.count % 4 != 0 { text.append("=") }
        return try PrivateKey(
            pem: Array(
                "-----BEGIN EC PRIVATE KEY-----\n\(String(text[..<64]))\n\(String(text[64...]))\n-----END EC PRIVATE KEY-----\n"
                    .utf8))
    }

    /// RFC 8291, Appendix A.
    @Test func `is RFC 8291's example, byte for byte`() throws {
        let own = try key(decoded("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
        let salt = try decoded("DGv6ra1nlYgDCS1FRnbzlw")
        let body = try WebPushMessage.encrypt(
            Array("When I grow up, I want to be a watermelon".utf8),
            publicKey: decoded(
                "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"),
            secret: decoded("BTBZMqHH6r4Tts7J_aSIgg"), WebPushPrimitives(makeKey: { own }, makeSalt: { salt }))
        #expect(
            try body
                == decoded(
                    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
                ))
    }

    @Test func `takes a new key and a new salt for each message`() throws {
        let phone = try PrivateKey.makeP256().publicPoint()
        let secret = [UInt8](repeating: 7, count: 16)
        let first = try WebPushMessage.encrypt([1], publicKey: phone, secret: secret, WebPushPrimitives())
        let second = try WebPushMessage.encrypt([1], publicKey: phone, secret: secret, WebPushPrimitives())
        #expect(first[..<16] != second[..<16])
        #expect(first[21..<86] != second[21..<86])
    }

    @Test func `refuses a point that is not on the curve`() throws {
        var off = try PrivateKey.makeP256().publicPoint()
        off[64] ^= 1
        #expect(throws: PushFailure.unusableKeys) {
            try WebPushMessage.encrypt(
                [1], publicKey: off, secret: [UInt8](repeating: 7, count: 16), WebPushPrimitives())
        }
    }
}
