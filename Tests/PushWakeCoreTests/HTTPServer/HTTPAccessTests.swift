// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

/// The same as a class: a macro cannot change what it looks at.
private final class Gate {
    private var access = HTTPAccess(hashes: `Access over HTTP`.hashes)

    func change(token: String, users: HTTPUsers, operators: [String] = [], realm: String = "pushwake") {
        access.change(token: Array(token.utf8), users: users, operators: operators, realm: realm)
    }

    func decide(_ request: ServedRequest, mayGuess: Bool = true, now: Int64) -> HTTPAccess.Decision {
        access.decide(HTTPCredentials(request["authorization"]), of: request, mayGuess: mayGuess, now: now)
    }

    func challenges(isStale: Bool = false, now: Int64) -> [HTTPResponse.Header] {
        access.challenges(isStale: isStale, now: now)
    }

    func keep(operators: [String], realm: String = "pushwake") {
        access.change(token: nil, users: nil, operators: operators, realm: realm)
    }
}

@Suite struct `Access over HTTP` {
    /// No hash that anybody should use; that real ones are put in is seen end to end.
    private static func hash(_ text: [UInt8], _ count: Int) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: count)
        for (index, byte) in text.enumerated() { out[index % count] = out[index % count] &* 31 &+ byte }
        return out
    }

    fileprivate static let hashes = HTTPAccess.Hashes(
        hash: { algorithm, text in hash(text, algorithm.digits / 2) }, keyed: { hash([7] + $0, 32) })

    private static func ha1(_ user: String, _ realm: String, _ password: String, _ algorithm: DigestAlgorithm) -> String
    {
        Hex.encode(hash(Array("\(user):\(realm):\(password)".utf8), algorithm.digits / 2))
    }

    private func access() -> Gate {
        let lines = [
            "# comment", "alice:pushwake:\(Self.ha1("alice", "pushwake", "secret", .md5))",
            "alice:example.com:\(Self.ha1("alice", "example.com", "sip", .md5))",
            "root:pushwake:\(Self.ha1("root", "pushwake", "toor", .sha256))", "broken:line", "",
        ]
        let gate = Gate()
        gate.change(
            token: "0123456789abcdef", users: HTTPUsers(Array(lines.joined(separator: "\n").utf8)), operators: ["root"])
        return gate
    }

    private func request(_ authorization: String?, method: String = "GET", target: String = "/metrics") throws
        -> ServedRequest
    {
        let headers = authorization.map { [HTTPResponse.Header(name: "authorization", value: $0)] } ?? []
        return try #require(ServedRequest(method: method, target: target, headers: headers))
    }

    private func basic(_ pair: String) -> String { "Basic \(Base64.encode(pair.utf8))" }

    private func names(_ challenges: [HTTPResponse.Header]) -> [String] {
        challenges.map { String($0.value.prefix { $0 != "," }) }
    }

    @Test func `knows the operator by the token and by name, users by their password`() throws {
        let access = access()
        #expect(access.decide(try request("Bearer 0123456789abcdef"), now: 0) == .granted(.operating))
        #expect(access.decide(try request("bearer  0123456789abcdef"), now: 0) == .granted(.operating))
        #expect(access.decide(try request(basic("root:toor")), now: 0) == .granted(.operating))
        #expect(
            access.decide(try request(basic("alice:secret")), now: 0)
                == .granted(.user("alice", realm: "pushwake")))
        #expect(
            access.decide(try request(basic("alice:sip")), now: 0)
                == .granted(.user("alice", realm: "example.com")))
    }

    @Test(arguments: [
        "Bearer 0123456789abcdeF", "Bearer 0123456789abcde", "Bearer", "Bearer x", "Basic", "Basic !!!", "Basic YQ==",
        "Digest", "Digest username=\"alice\"", "Negotiate abc", "",
    ])
    func `lets nobody in with anything else`(authorization: String) throws {
        let access = access()
        guard case .wrong = access.decide(try request(authorization), now: 0) else {
            return #expect(Bool(false), "let in")
        }
        for pair in ["alice:", "alice:wrong", "nobody:secret", ":secret", "broken:line", "root:secret"] {
            guard case .wrong = access.decide(try request(basic(pair)), now: 0) else {
                return #expect(Bool(false), "let in with \(pair)")
            }
        }
    }

    @Test func `asks with the strongest first, and offers only what somebody can use`() throws {
        let access = access()
        #expect(access.decide(try request(nil), now: 0) == .asked(isStale: false))
        let headers = access.challenges(now: 0)
        #expect(
            names(headers) == [
                "Digest realm=\"pushwake\"", "Digest realm=\"pushwake\"", "Basic realm=\"pushwake\"",
                "Bearer realm=\"pushwake\"",
            ])
        #expect(headers[0].value.contains("algorithm=SHA-256") && headers[1].value.contains("algorithm=MD5"))
        access.change(token: "", users: HTTPUsers())
        #expect(access.challenges(now: 0).isEmpty)
    }

    @Test func `makes a nonce only for a challenge that is sent`() throws {
        let access = access()
        let nonce = try nonce(access)
        for _ in 0...DigestNonces.most { _ = access.decide(try request(nil), now: 0) }
        let alice = HTTPAccess.Decision.granted(.user("alice", realm: "pushwake"))
        #expect(access.decide(try request(digest(nonce: nonce)), now: 1) == alice)
    }

    @Test func `decides the token whatever else its address has shown, and looks at no password then`() throws {
        let access = access()
        #expect(access.decide(try request("Bearer 0123456789abcdef"), mayGuess: false, now: 0) == .granted(.operating))
        #expect(
            access.decide(try request("Bearer 0123456789abcdeF"), mayGuess: false, now: 0) == .wrong(isGuess: false))
        for other in [basic("root:toor"), basic("root:wrong"), "Negotiate abc"] {
            #expect(access.decide(try request(other), mayGuess: false, now: 0) == .limited)
        }
        #expect(access.decide(try request(nil), mayGuess: false, now: 0) == .asked(isStale: false))
        #expect(access.decide(try request(basic("root:wrong")), now: 0) == .wrong(isGuess: true))
    }

    @Test func `goes on with token and users when others cannot be read`() throws {
        let access = access()
        access.keep(operators: [])
        #expect(access.decide(try request("Bearer 0123456789abcdef"), now: 0) == .granted(.operating))
        #expect(access.decide(try request(basic("root:toor")), now: 0) == .granted(.user("root", realm: "pushwake")))
        #expect(names(access.challenges(now: 0)).count == 4)
    }

    private func nonce(_ access: Gate, now: Int64 = 0) throws -> String {
        let value = try #require(access.challenges(now: now).first { $0.value.contains("MD5") }).value
        return String(value.split(separator: "nonce=\"")[1].prefix { $0 != "\"" })
    }

    private func digest(
        nonce: String, count: String = "00000001", password: String = "secret", uri: String = "/metrics",
        method: String = "GET", realm: String = "pushwake", ha1: String? = nil
    ) -> String {
        let ha1 = ha1 ?? Self.ha1("alice", "pushwake", password, .md5)
        let ha2 = Hex.encode(Self.hash(Array("\(method):\(uri)".utf8), 16))
        let response = Hex.encode(Self.hash(Array("\(ha1):\(nonce):\(count):cn:auth:\(ha2)".utf8), 16))
        return
            "Digest username=\"alice\", realm=\"\(realm)\", nonce=\"\(nonce)\", uri=\"\(uri)\", qop=auth, nc=\(count), cnonce=\"cn\", response=\"\(response)\""
    }

    @Test func `takes each use of a nonce once, and asks again when the nonce is old`() throws {
        let access = access()
        let nonce = try nonce(access)
        let alice = HTTPAccess.Decision.granted(.user("alice", realm: "pushwake"))
        #expect(access.decide(try request(digest(nonce: nonce)), now: 1) == alice)
        // The same once more is what somebody has overheard.
        #expect(access.decide(try request(digest(nonce: nonce)), now: 1) == .asked(isStale: true))
        #expect(access.challenges(isStale: true, now: 1).contains { $0.value.contains("stale=true") })
        #expect(access.decide(try request(digest(nonce: nonce, count: "00000005")), now: 2) == alice)
        guard case .asked = access.decide(try request(digest(nonce: nonce, count: "00000006")), now: 300) else {
            return #expect(Bool(false), "an old nonce was taken")
        }
    }

    @Test func `refuses a digest of another request, realm, password or nonce`() throws {
        let access = access()
        let nonce = try nonce(access)
        let others = [
            digest(nonce: nonce, password: "wrong"), digest(nonce: nonce, uri: "/v1/send"),
            digest(nonce: nonce, method: "POST"), digest(nonce: nonce, realm: "other"), digest(nonce: "x"),
            digest(nonce: nonce, count: "0000000g"),
        ]
        for text in others {
            guard case .wrong = access.decide(try request(text), now: 1) else {
                return #expect(Bool(false), "let in with \(text)")
            }
        }
    }

    @Test func `lets nobody in who has no password in an empty realm`() throws {
        let access = access()
        let nonce = try nonce(access)
        access.keep(operators: ["alice"], realm: "")
        let text = digest(nonce: nonce, realm: "", ha1: String(repeating: "0", count: 32))
        #expect(access.decide(try request(text), now: 1) == .wrong(isGuess: true))
    }

    @Test func `keeps a bounded number of nonces`() {
        var nonces = DigestNonces(tag: { Self.hash($0, 32) })
        let first = nonces.make(now: 0)
        for _ in 0..<DigestNonces.most { _ = nonces.make(now: 1) }
        let fresh = nonces.make(now: 1)
        let findings = [first, fresh, ""].map { nonces.use($0, count: "00000001", now: 1) }
        #expect(findings == [.stale, .good, .malformed])
    }

    @Test func `asks again who knows the password and has a nonce of another engine`() throws {
        #expect(access().decide(try request(digest(nonce: "0-1-0000")), now: 1) == .asked(isStale: true))
        let wrong = access().decide(try request(digest(nonce: "0-1-0000", password: "wrong")), now: 1)
        #expect(wrong == .wrong(isGuess: true))
    }

    @Test func `lets a user act for its own account alone`() {
        let alice = HTTPAccess.Identity.user("alice", realm: "example.com")
        #expect(alice.mayActFor("alice") && alice.mayActFor("alice@example.com"))
        #expect(!alice.mayActFor("bob") && !alice.mayActFor("alice@example.org") && !alice.mayActFor(""))
        #expect(HTTPAccess.Identity.operating.mayActFor("bob"))
        // Another account, whose name looks the same.
        #expect(!HTTPAccess.Identity.user("jos\u{E9}", realm: "a.b").mayActFor("jose\u{301}"))
    }

    @Test func `makes an operator of a name in the own realm alone, by bytes`() throws {
        let (composed, decomposed) = ("jos\u{E9}", "jose\u{301}")
        let lines = [
            "admin:pushwake:\(Self.ha1("admin", "pushwake", "right", .md5))",
            "admin:other.example:\(Self.ha1("admin", "other.example", "his", .md5))",
            "admin:other.example:\(Self.ha1("admin", "other.example", "right", .md5))",
            "\(composed):pushwake:\(Self.ha1(composed, "pushwake", "one", .md5))",
            "\(decomposed):pushwake:\(Self.ha1(decomposed, "pushwake", "two", .md5))",
            "guest:pushwak\u{E9}:\(Self.ha1("guest", "pushwak\u{E9}", "x", .md5))",
        ]
        let gate = Gate()
        gate.change(
            token: "", users: HTTPUsers(Array(lines.joined(separator: "\n").utf8)),
            operators: ["admin", composed, "guest"])
        func who(_ pair: String) throws -> HTTPAccess.Decision { gate.decide(try request(basic(pair)), now: 0) }
        #expect(try who("admin:his") == .granted(.user("admin", realm: "other.example")))
        #expect(try who("admin:right") == .granted(.operating), "the own realm counts where both fit")
        #expect(try who("\(composed):one") == .granted(.operating))
        #expect(try who("\(decomposed):two") == .granted(.user(decomposed, realm: "pushwake")))
        #expect(try who("\(decomposed):one") == .wrong(isGuess: true))
        gate.keep(operators: ["guest"], realm: "pushwake\u{301}")
        #expect(try who("guest:x") == .granted(.user("guest", realm: "pushwak\u{E9}")))
    }

    @Test func `reads a name that begins with an accent`() throws {
        let text = digest(nonce: "n").replacing("\"alice\"", with: "\"\u{301}\\\"a\"")
        #expect(HTTPCredentials(text).user == "\u{301}\"a")
        #expect(HTTPCredentials("Basic \(Base64.encode([0xFF, 0x3A, 0x61]))") == .unreadable)
    }

    @Test func `offers what all users of the realm have, where they have something in common`() {
        let (md5, sha) = (String(repeating: "0", count: 32), String(repeating: "1", count: 64))
        let text = "a:r:\(md5)\na:r:\(sha)\nb:r:\(sha)\nc:other:\(md5)\n"
        let users = HTTPUsers(Array(text.utf8))
        #expect(users.algorithms(in: "r") == [.sha256])
        #expect(users.algorithms(in: "other") == [.md5])
        #expect(users.algorithms(in: "none").isEmpty)
    }

    @Test func `names the lines of a file of users that cannot be used, not what is in them`() {
        let users = HTTPUsers(Array("a:b\nsecret\na:b:zz\nu:r:\(String(repeating: "0", count: 32))\r\n".utf8))
        #expect(users.count == 1)
        #expect(users.problems.map(\.line) == [1, 2, 3])
        #expect(!users.problems.contains { $0.message.contains("secret") })
    }
}
