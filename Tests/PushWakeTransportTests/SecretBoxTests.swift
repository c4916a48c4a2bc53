// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport
import Testing

@Suite struct SecretBoxTests {
    private let old = [UInt8](repeating: 1, count: 32)
    private let new = [UInt8](repeating: 2, count: 32)
    private let secret = Secret("14d4f932e3897a39d6a17c13b526db00")

    @Test func `what was sealed is opened, for its owner alone`() throws {
        let box = try #require(SecretBox(keys: [old]))
        let sealed = try box.seal(secret, for: "gw-101_40pbx")
        #expect(box.open(sealed, for: "gw-101_40pbx") == secret)
        #expect(box.open(sealed, for: "gw-102_40pbx") == nil)
        let again = try box.seal(secret, for: "gw-101_40pbx")
        #expect(again != sealed)
    }

    @Test func `an earlier key reads, the first one seals`() throws {
        let before = try #require(SecretBox(keys: [old]))
        let after = try #require(SecretBox(keys: [new, old]))
        let last = try #require(SecretBox(keys: [new]))
        let sealed = try before.seal(secret, for: "a")
        #expect(after.open(sealed, for: "a") == secret)
        #expect(!after.isCurrent(sealed))
        #expect(last.open(sealed, for: "a") == nil)
        let resealed = try after.seal(secret, for: "a")
        #expect(after.isCurrent(resealed))
        #expect(last.open(resealed, for: "a") == secret)
    }

    @Test func `what was altered or cut is not opened`() throws {
        let box = try #require(SecretBox(keys: [old]))
        let sealed = try box.seal(secret, for: "a")
        for index in sealed.indices {
            var bad = sealed
            bad[index] ^= 1
            #expect(box.open(bad, for: "a") == nil)
        }
        for count in 0..<sealed.count { #expect(box.open(Array(sealed.prefix(count)), for: "a") == nil) }
    }

    @Test(arguments: [[], [31], [32, 16]])
    func `keys have 32 bytes`(lengths: [Int]) {
        #expect(SecretBox(keys: lengths.map { [UInt8](repeating: 0, count: $0) }) == nil)
    }
}

@Suite struct DigestVectors {
    private func challenge(_ algorithm: DigestAlgorithm, _ name: String) -> DigestChallenge {
        var challenge = DigestChallenge()
        (challenge.realm, challenge.hasAuth) = ("http-auth@example.org", true)
        challenge.nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
        (challenge.algorithm, challenge.algorithmName) = (algorithm, name)
        challenge.opaque = "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
        return challenge
    }

    /// RFC 7616, 3.9.1: Mufasa, Circle of Life.
    @Test(arguments: [
        (DigestAlgorithm.md5, "MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        (.sha256, "SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ])
    func `answers are those of RFC 7616`(algorithm: DigestAlgorithm, name: String, response: String) {
        let first = Crypto.digest(algorithm, Array("Mufasa:http-auth@example.org:Circle of Life".utf8))
        let line = DigestAnswer(
            challenge(algorithm, name), count: 1, clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
        ).header(
            username: "Mufasa", credential: Secret(Hex.encode(first)), method: "GET", uri: "/dir/index.html",
            hash: Crypto.digest)
        #expect(line.contains("response=\"\(response)\""))
    }
}
