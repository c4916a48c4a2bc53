// SPDX-License-Identifier: MIT

import PushWakeTransport

/// The subscription whose keys `simulator.json` names: the one browser whose pushes the simulator can read.
struct OwnSubscription {
    let key: PrivateKey
    /// `auth`, 16 bytes.
    let secret: [UInt8]

    /// The payload of an aes128gcm body; nil when it is for somebody else (RFC 8291, 3.4; RFC 8188, 2).
    func open(_ body: [UInt8]) -> [UInt8]? {
        guard body.count > 86 + 16, body[20] == 65 else { return nil }
        let sender = Array(body[21..<86])
        guard let shared = try? Crypto.ecdhP256(key, peerPoint: sender) else { return nil }
        let material = Self.derive(
            salt: secret, shared, Array("WebPush: info\0".utf8) + key.publicPoint() + sender, 32)
        let salt = Array(body[..<16])
        let content = Self.derive(salt: salt, material, Array("Content-Encoding: aes128gcm\0".utf8), 16)
        let nonce = Self.derive(salt: salt, material, Array("Content-Encoding: nonce\0".utf8), 12)
        guard var padded = try? Crypto.openAES128GCM(key: content, nonce: nonce, Array(body[86...])) else { return nil }
        while padded.last == 0 { padded.removeLast() }
        return padded.last == 2 ? padded.dropLast() : nil
    }

    /// HKDF with one block (RFC 5869).
    private static func derive(salt: [UInt8], _ input: [UInt8], _ info: [UInt8], _ count: Int) -> [UInt8] {
        let extracted = Crypto.hmacSHA256(key: salt, input)
        return Array(Crypto.hmacSHA256(key: extracted, info + [1]).prefix(count))
    }
}
