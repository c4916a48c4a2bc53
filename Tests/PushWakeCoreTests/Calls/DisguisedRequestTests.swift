// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// What a request's sender, or a script on its way, has put over it: an encoding, a wish not to be named, another name.
@Suite struct `A request in disguise` {
    private func read(
        _ method: String, _ headers: [(String, String)], shown: String = "", body: [UInt8] = []
    ) -> IncomingRequest {
        var reader = RequestReader(method: method.utf8.span, uri: "sip:bob@example.org".utf8.span)
        for (name, value) in headers { reader.header(name: name.utf8.span, value: value.utf8.span) }
        if !shown.isEmpty { reader.shown(shown.utf8.span) }
        reader.body(body.span)
        return reader.finish()
    }

    private func bytes(_ base64: String) throws -> [UInt8] {
        let alphabet = base64.replacing("+", with: "-").replacing("/", with: "_")
        return try #require(Base64URL.decode(String(alphabet.prefix { $0 != "=" })))
    }

    // MARK: Content-Encoding

    @Test(arguments: [
        (
            "Content-Encoding", "deflate", "text/plain;charset=utf-8",
            "eJxzLzq85/D8VB2FkozMYgUgKslIVSjISczMUyhJrShRyE8Di+SmFhcnpqfqAQDIZhID",
            "Grüße, this is the plain text of the message."
        ),
        ("e", "gzip", "text/plain", "H4sIAAAAAAACA/PIVCjJSC1KVXg0ZzIAdh4v9wwAAAA=", "Hi there \u{2713}"),
        ("E", "x-gzip", "", "H4sIAAAAAAACA/PIVCjJSC1KVXg0ZzIAdh4v9wwAAAA=", "Hi there \u{2713}"),
        (
            "content-encoding", "deflate", "multipart/mixed;boundary=b",
            "eNrT1U3i5XLOzytJzSvRDaksSLVSyMxNTE/VL8hL5+Xi5arg5dLFVFKSWlGiX5CTmJkHUuORqVCSkVqUClaqq8vLBQA9dhhG",
            "Hi there"
        ),
    ])
    func `has the text that was encoded`(name: String, coding: String, type: String, body: String, text: String) throws
    {
        let request = read("MESSAGE", [(name, coding), ("Content-Type", type)], body: try bytes(body))
        #expect(request.text == text)
    }

    @Test(arguments: [
        (
            "deflate",
            "eJxzK8rPtVKwKc4ssErMyUxOdUitSMwtyEnVyy9Kt+Pl4uVyzs8rSc0r0Q2pLEi1UshNLS5OTE/Vz8xNydOuyM0BqbABcfTtALM9GHg="
        ),
        (
            "gzip",
            "H4sIAAAAAAACA3Mrys+1UrApziywSnTIsOPl4uVyzs8rSc0r0Q2pLEi1UshNLS5OTE/Vz8xNydOuyM0BqbABcfTtAJdQUdw8AAAA"
        ),
    ])
    func `is a notice where nothing else was encoded`(coding: String, body: String) throws {
        let request = read("MESSAGE", [("Content-Encoding", coding), ("c", "message/cpim")], body: try bytes(body))
        #expect(request.contentType.hasPrefix("message/imdn+xml") && request.text.isEmpty)
        guard case .nobody = RequestPolicy(Settings()).decision(on: request, hasPURR: false) else {
            Issue.record("it wakes")
            return
        }
    }

    @Test(arguments: ["br", "deflate", "gzip, br", "deflate, deflate"])
    func `has no text when it cannot be decoded`(coding: String) {
        for type in ["text/plain", "message/cpim", ""] {
            let request = read("MESSAGE", [("e", coding), ("c", type)], body: Array("\u{1}rubbish".utf8))
            #expect(request.text.isEmpty && request.contentType == type)
        }
    }

    @Test func `offers what its encoded session has`() throws {
        let offer = try bytes("eNorszXg5cq1TSxNycxXMDEwMFAICgnQdwwLUACLl2WmpILFjeDilma8XACJeQ2n")
        #expect(read("INVITE", [("Content-Encoding", "deflate"), ("c", "application/sdp")], body: offer).offersVideo)
        #expect(!read("INVITE", [("c", "application/sdp")], body: offer).offersVideo)
    }

    // MARK: Who calls

    private let alice = ("From", "\"Alice\" <sip:alice@example.org>;tag=7")

    @Test(arguments: [
        ("id", true), ("user", true), ("header", true), ("ID; critical", true), ("session;user", true),
        ("history , id", true), ("none", false), ("session", false), ("critical", false), ("", false),
        ("identity", false),
    ])
    func `names nobody who asks for that`(privacy: String, isWithheld: Bool) {
        let request = read("INVITE", [alice, ("Privacy", "session"), ("privacy", privacy)])
        #expect(request.fromURI == (isWithheld ? CallerIdentity.anonymous.uri : "sip:alice@example.org"))
        #expect(request.fromDisplay == (isWithheld ? "" : "Alice") && request.fromTag == "7")
        #expect(request.callerKey == (isWithheld ? "sip:alice@example.org" : ""), "limits tell them apart")
    }

    @Test(arguments: [
        "\"Real Name\" <sip:anonymous@anonymous.invalid>;tag=7", "sip:x@ANONYMOUS.invalid:5060;transport=tcp",
        "<sips:anonymous.invalid>",
    ])
    func `names nobody whose address is nobody's`(from: String) {
        let request = read("INVITE", [("f", from)])
        #expect(request.fromURI == CallerIdentity.anonymous.uri && request.fromDisplay.isEmpty)
    }

    @Test(arguments: [
        (
            "Via: x\r\nFrom: \"Hidden\" <sip:hidden@example.org>;tag=7\r\nTo: <sip:b@h>\r\n", "sip:hidden@example.org",
            "Hidden"
        ),
        ("f:sip:hidden@example.org\r\nFrom: <sip:second@example.org>\r\n", "sip:hidden@example.org", ""),
        ("From: \"Alice\"\r\n <sip:alice@example.org>\r\nPrivacy: id\r\n", CallerIdentity.anonymous.uri, ""),
        ("Via: x\r\n", "", ""),
    ])
    func `names whom phones will see`(lines: String, uri: String, name: String) {
        let request = read("INVITE", [alice, ("Call-ID", "c"), ("Privacy", "id")], shown: lines + "Call-ID: other\r\n")
        #expect(request.fromURI == uri && request.fromDisplay == name)
        #expect(request.callerKey == "sip:alice@example.org" && request.callID == "c")
    }
}
