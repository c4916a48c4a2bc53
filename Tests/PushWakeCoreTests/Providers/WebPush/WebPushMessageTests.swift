// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// The values of RFC 8291, Appendix A.
enum RFC8291 {
    static func bytes(_ text: String) -> [UInt8] { Base64URL.decode(text) ?? [] }

    static let plaintext = Array("When I grow up, I want to be a watermelon".utf8)
    static let ownPublic = bytes(
        "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8")
    static let phonePublicText =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    static let authText = "BTBZMqHH6r4Tts7J_aSIgg"
    static let salt = bytes("DGv6ra1nlYgDCS1FRnbzlw")
    static let shared = bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs")
    static let contentKey = bytes("oIhVW04MRdy2XN9CiKLxTg")
    static let nonce = bytes("4h_95klXJ5E_qnoN")
    static let sealed = bytes("8pfeW0KbunFT06SuDKoJH9Ql87S1QUrdirN6GcG7sFz1y1sqLgVi1VhjVkHsUoEsbI_0LpXMuGvnzQ")
    static let body = bytes(
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )
}

/// Agreement and randomness as the RFC has them, HMAC for real, and a cipher that knows one message.
struct RFC8291Crypto: WebPushCrypto {
    func agree(with peer: [UInt8]) -> (publicKey: [UInt8], secret: [UInt8])? {
        peer == RFC8291.bytes(RFC8291.phonePublicText) ? (RFC8291.ownPublic, RFC8291.shared) : nil
    }
    func salt() -> [UInt8]? { RFC8291.salt }
    func hmac(key: [UInt8], _ data: [UInt8]) -> [UInt8]? { SHA256.hmac(key: key, data) }
    func seal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        guard key == RFC8291.contentKey, nonce == RFC8291.nonce else { return nil }
        if plaintext == RFC8291.plaintext + [2] { return RFC8291.sealed }
        return plaintext + Array(repeating: 0, count: 16)
    }
}

@Suite struct `Web Push message` {
    private func encrypt(_ payload: [UInt8], publicKey: [UInt8]? = nil, secret: [UInt8]? = nil) throws -> [UInt8] {
        try WebPushMessage.encrypt(
            payload, publicKey: publicKey ?? RFC8291.bytes(RFC8291.phonePublicText),
            secret: secret ?? RFC8291.bytes(RFC8291.authText), RFC8291Crypto())
    }

    @Test func `is RFC 8291's, byte for byte`() throws {
        #expect(try encrypt(RFC8291.plaintext) == RFC8291.body)
    }

    @Test(arguments: [0, 1, 300, 3993]) func `takes 103 bytes more than its payload`(count: Int) throws {
        #expect(try encrypt(Array(repeating: 0x6D, count: count)).count == count + 103)
    }

    @Test func `is refused when it would be longer than 4096 bytes`() {
        #expect(throws: PushFailure.payloadTooLarge) { try encrypt(Array(repeating: 0, count: 3994)) }
    }

    @Test(arguments: [0, 64, 66]) func `is refused for a key of another size`(count: Int) {
        #expect(throws: PushFailure.unusableKeys) { try encrypt([], publicKey: Array(repeating: 4, count: count)) }
        #expect(throws: PushFailure.unusableKeys) { try encrypt([], secret: Array(repeating: 4, count: count)) }
    }

    @Test func `is refused for a point that is not on the curve`() {
        #expect(throws: PushFailure.unusableKeys) { try encrypt([], publicKey: Array(repeating: 4, count: 65)) }
    }

    @Test(arguments: [("", "e3b0c442"), ("abc", "ba7816bf")]) func `is tested with a true SHA-256`(
        text: String, start: String
    ) {
        #expect(Hex.encode(Array(SHA256.hash(Array(text.utf8)).prefix(4))) == start)
    }
}
