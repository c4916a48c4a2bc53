// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

private func read(_ method: String, _ headers: [(String, String)] = [], uri: String = "", body: String = "")
    -> IncomingRequest
{
    var reader = RequestReader(method: method.utf8.span, uri: uri.utf8.span)
    for (name, value) in headers { reader.header(name: name.utf8.span, value: value.utf8.span) }
    reader.body(body.utf8.span)
    return reader.finish()
}

@Suite struct `Reading a request` {
    @Test func `finds what phones are told, under long names and short ones`() {
        for names in [
            ["From", "To", "Call-ID", "Content-Type", "Event"], ["f", "t", "i", "c", "o"], ["F", "T", "I", "C", "O"],
            ["FROM", "TO", "CALL-ID", "CONTENT-TYPE", "EVENT"],
        ] {
            let request = read(
                "MESSAGE",
                [
                    (names[0], "\"Al \\\"x\\\"\" <sip:alice@example.org;x=y>;tag=1"), (names[1], "sip:bob@example.org"),
                    (names[2], " call-1 "), (names[3], "text/plain;charset=utf-8"), (names[4], "Presence;id=1"),
                ], body: "hello")
            var expected = IncomingRequest(method: "MESSAGE")
            expected.fromURI = "sip:alice@example.org;x=y"
            expected.fromDisplay = "Al \"x\""
            expected.fromTag = "1"
            expected.toURI = "sip:bob@example.org"
            expected.callID = "call-1"
            expected.contentType = "text/plain;charset=utf-8"
            expected.eventPackage = "presence"
            expected.text = "hello"
            #expect(request == expected)
        }
    }

    @Test func `is inside a dialog when To has a tag, and only then`() {
        #expect(read("INVITE", [("To", "<sip:b@h>;tag=1")]).isInDialog)
        #expect(read("INVITE", [("t", "\"x;tag=1\" <sip:b@h;tag=1>")]).isInDialog == false)
        #expect(read("INVITE", [("From", "<sip:b@h>;tag=1")]).isInDialog == false)
    }

    @Test(arguments: [
        ("sip:bob@192.0.2.1;pn-purr=00fa", ""), ("sip:bob@192.0.2.1;transport=tls;PN-PURR=00fa;ob", ""),
        ("sips:[2001:db8::1]:5061;pn-purr=00f%61?x=y", ""),
        ("sip:p.example.org", "<sip:p1;lr>, <sip:bob@h;pn-purr=00fa>"),
        ("sip:p.example.org", "\"a,b;pn-purr=9\" <sip:p1;lr>,\r\n <sip:bob@h;pn-purr=00fa;lr>"),
        ("sip:bob@h;pn-purr=00fa", "<sip:p1;lr;pn-purr=ffff>"),
    ])
    func `finds the PURR in Request-URI and Route`(uri: String, route: String) {
        let request = read("UPDATE", [("Route", "<sip:p0;lr>"), ("Route", route)], uri: uri)
        #expect(request.purr == "00fa")
    }

    @Test(arguments: [
        "sip:pn-purr=00fa@h", "sip:a;pn-purr=00fa@h", "sip:a@h?pn-purr=00fa", "sip:a@h;pn-purr", "sip:a@h;xpn-purr=1",
        "sip:a@h;pn-purr=%00", "sip:a@h;pn-purr=%4", "sip:a@h;pn-purr=" + String(repeating: "a", count: 513), "",
    ])
    func `finds no PURR where none is`(uri: String) {
        #expect(read("UPDATE", uri: uri).purr.isEmpty)
        #expect(read("UPDATE", [("Route", "<\(uri)>"), ("Route", "<sip:x"), ("Route", "\"")]).purr.isEmpty)
    }

    @Test func `takes the first header of a name, and leaves out what is too long`() {
        let long = String(repeating: "x", count: SIPLimits.longestHeader + 1)
        #expect(read("INVITE", [("i", "one"), ("Call-ID", "two")]).callID == "one")
        #expect(read("INVITE", [("i", long), ("Call-ID", "two")]).callID == "two")
        #expect(read(long).method.utf8.count == SIPLimits.longestName)
    }

    @Test(arguments: [
        ("Content-Type: text/plain; charset=utf-8|", "text/plain; charset=utf-8", "Hi||there"),
        ("content-type : text/plain|Content-Length: 3|", "text/plain", "Hi||there"), ("", "", "Hi||there"),
        ("Content-Type: text/plain|Content-Transfer-Encoding: 8bit|", "text/plain", "Hi||there"),
        ("Content-Type: text/plain|Content-Transfer-Encoding: Base64|", "text/plain", ""),
        ("Content-Type: message/imdn+xml|Content-Disposition: notification|", "message/imdn+xml", ""),
        ("Content-Type:|  application/x|", "application/x", ""),
        ("Content-Type: text/plain;| charset: utf-8|", "text/plain; charset: utf-8", "Hi||there"),
        ("Content-Type: application/x|", "application/x", ""),
    ])
    func `finds what a message in CPIM wraps`(headers: String, type: String, text: String) {
        let about = "From: A <sip:a@h>|NS: imdn <urn:ietf:params:imdn>|imdn.Message-ID: 1||"
        for lineEnd in ["\r\n", "\n"] {
            let body = (about + headers + "|Hi||there").replacing("|", with: lineEnd)
            let request = read("MESSAGE", [("c", "Message/CPIM; charset=utf-8")], body: body)
            #expect(request.contentType == type)
            #expect(request.text == text.replacing("|", with: lineEnd))
        }
    }

    @Test(arguments: [
        "", "hello", "From: <sip:a@h>\r\n\r\n", "\r\n", "From: <sip:a@h>\r\n\r\nContent-Type: text/plain\r\n",
    ])
    func `leaves what only claims to be CPIM as it is`(body: String) {
        let request = read("MESSAGE", [("c", "message/cpim")], body: body)
        #expect(request.contentType == "message/cpim")
        #expect(request.text.isEmpty)
    }

    @Test func `is shown as its host gave it, but the body of a chat`() {
        let body = "From: <sip:a@h>\n\nContent-Type: text/plain\n\nHi"
        let chat = MessageContent.shown(of: body.utf8.span, contentType: "message/cpim", codings: "", .chat)
        #expect(chat == ("text/plain", "Hi"))
        for event in [PushEvent.custom, .voicemail, nil] {
            let other = MessageContent.shown(of: body.utf8.span, contentType: "message/cpim", codings: "", event)
            #expect(other == ("message/cpim", body))
        }
    }

    /// What stands for lines that would be long: `|` is a line end, `^` begins the type of a part.
    private func written(_ body: String, _ lineEnd: String) -> String {
        body.replacing("^", with: "Content-Type: ").replacing("|", with: lineEnd)
    }

    @Test(arguments: [
        // As Linphone and browsers send a text with a picture.
        ("mixed;boundary=b", "--b|^text/plain;charset=utf-8||Hi||there|--b|^image/png||x|--b--|"),
        ("Mixed; charset=x; Boundary=\"b\"", "about|--b|content-type : TEXT/plain||Hi||there|--b--|after|--b||no|"),
        ("mixed;boundary=b", "--b|^image/png||x|--b  |^text/plain||Hi||there|--b--"),
        ("alternative;boundary=b", "--b|^text/html||<b>Hi</b>|--b||Hi||there|--b--"),
        ("mixed;boundary=b", "--b|Content-Type:| text/plain;|  charset=utf-8||Hi||there|--b--"),
        ("mixed;boundary=b", "--b|^message/imdn+xml||x|--b|^text/plain||Hi||there|--b--"),
        ("mixed;boundary=b", "--b|^multipart/alternative; boundary=\"b-in\"||--b-in||Hi||there|--b-in--|--b--"),
        ("mixed;boundary=b", "--b|^message/cpim||From: <sip:a@h>||^text/plain||Hi||there|--b--"),
        // No delimiter ends it.
        ("mixed;boundary=b", "--b|^text/plain||Hi||there"),
    ])
    func `finds the first plain text of several parts`(type: String, body: String) {
        for lineEnd in ["\r\n", "\n"] {
            let text = written("Hi||there", lineEnd)
            let request = read("MESSAGE", [("Content-Type", "Multipart/\(type)")], body: written(body, lineEnd))
            #expect(request.text == text)
            #expect(MessageBody(contentType: request.contentType) == .text)
            let packed = written("From: <sip:a@h>||^multipart/\(type)||\(body)", lineEnd)
            #expect(read("MESSAGE", [("c", "message/cpim")], body: packed).text == text)
        }
    }

    @Test(arguments: [
        ("mixed;boundary=b", "--b|^image/png||x|--b--"), ("mixed;boundary=b", "--b|^text/html||<b>Hi</b>|--b--"),
        ("mixed;boundary=b", "--b|Content-Transfer-Encoding: base64||SGk=|--b--"),
        ("mixed;boundary=b", "--c||Hi|--c--"), ("mixed;boundary=b", "--b|Hi|--b--"), ("mixed;boundary=b", "--b|--b--"),
        ("mixed;boundary=b", ""), ("mixed", "--||Hi|----"), ("mixed;boundary=", "--||Hi|----"),
        ("mixed;boundary=\"b", "--b||Hi|--b--"),
        ("mixed;boundary=b", "--b|^message/imdn+xml||x|--b|^image/png||x|--b--"),
    ])
    func `finds no text in parts that have none`(type: String, body: String) {
        for lineEnd in ["\r\n", "\n"] {
            let request = read("MESSAGE", [("Content-Type", "multipart/\(type)")], body: written(body, lineEnd))
            #expect(request.text.isEmpty)
            #expect(MessageBody(contentType: request.contentType) == .other)
        }
    }

    @Test func `takes parts that are all notices for one`() {
        let body = written("--b|^message/imdn+xml||x|--b|^message/imdn+xml||y|--b--", "\r\n")
        #expect(read("MESSAGE", [("c", "multipart/mixed;boundary=b")], body: body).contentType == "message/imdn+xml")
    }

    @Test func `looks for a text in parts only so deep`() {
        var body = "|Hi"
        for level in 0..<9 { body = "^multipart/mixed;boundary=b\(level)||--b\(level)|\(body)|--b\(level)--" }
        body = written("--b|\(body)|--b--", "\r\n")
        #expect(read("MESSAGE", [("c", "multipart/mixed;boundary=b")], body: body).text.isEmpty)
    }

    @Test func `finds nothing in parts but what is there, in any order`() {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        let pieces = [
            "--b", "--b--", "\r\n", "\n", "\r\n\r\n", "Content-Type: ", "multipart/mixed;boundary=b", "message/cpim",
            "text/plain", ":", " ", "--", "Hi", "\r", "\"", ";boundary=",
        ]
        var found = 0
        for _ in 0..<20_000 {
            var body = ""
            for _ in 0..<24 {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                body += pieces[Int(state >> 32) % pieces.count]
            }
            let type = state & 1 == 0 ? "multipart/mixed;boundary=b" : "message/cpim"
            let request = read("MESSAGE", [("c", type)], body: body)
            #expect(body.contains(request.text) || request.text.isEmpty)
            found += request.text.isEmpty ? 0 : 1
        }
        #expect(found > 100)
    }

    @Test func `takes a body as long as Content-Length says`() {
        #expect(read("MESSAGE", [("l", "5")], body: "hello world").text == "hello")
        #expect(read("MESSAGE", [("Content-Length", "4294967296")], body: "hello").text == "hello")
        #expect(read("MESSAGE", [("Content-Length", "-1")], body: "hello").text == "hello")
        #expect(read("MESSAGE", [("c", "application/cpim")], body: "hello").text.isEmpty)
        #expect(read("INVITE", body: "hello").text.isEmpty)
    }

    @Test(arguments: [
        ("Messages-Waiting: yes\r\nVoice-Message: 2/8 (0/2)\r\n", false, "2/8 (0/2)"),
        ("messages-waiting:NO\nVoice-Message:0/2", true, "0/2"), ("Messages-Waiting: nothing", false, ""),
        ("", false, ""), (":\n:no\nMessages-Waiting", false, ""),
    ])
    func `reads the summary of a mailbox`(body: String, isEmpty: Bool, count: String) {
        let request = read("NOTIFY", [("o", "message-summary")], body: body)
        #expect(request.saysNoMessageWaits == isEmpty)
        #expect(request.text == count)
        #expect(read("NOTIFY", [("o", "dialog")], body: body).text.isEmpty)
    }

    @Test(
        arguments: [
            ("v=0\r\nm=audio 4000 RTP/AVP 0\r\nm=video 4002 RTP/AVP 96\r\n", true),
            ("m=audio 4000 RTP/AVP 0\r\n", false),
            // Switched off.
            ("m=video 0 RTP/AVP 96\r\n", false), ("m=video ", false), ("", false), ("a=m=video 4002", false),
        ] as [(String, Bool)])
    func `knows an INVITE that offers video`(body: String, offersVideo: Bool) {
        #expect(read("INVITE", body: body).offersVideo == offersVideo)
        #expect(read("INVITE", [("c", "application/SDP ;x=y")], body: body).offersVideo == offersVideo)
        #expect(!read("INVITE", [("c", "text/plain")], body: body).offersVideo)
        #expect(!read("MESSAGE", body: body).offersVideo)
    }

    @Test(
        arguments: [
            ("--x\nContent-Type: application/sdp\n\nm=video 9 UDP/TLS/RTP/SAVPF 96\n--x--", true),
            (
                "--x\r\nc: a/b\r\n\r\n--x\r\nContent-Type: application/sdp\r\n\r\nm=video 9 RTP/AVP 96\r\n--x--\r\n",
                true
            ),
            ("--x\nContent-Type: application/sdp\n\nm=audio 9 RTP/AVP 0\n--x\n\nm=video 9 RTP/AVP 96\n--x--", false),
            ("--x\nContent-Type: text/plain\n\nm=video 9 RTP/AVP 96\n--x--", false), ("m=video 9 RTP/AVP 96", false),
            (
                "--x\nContent-Type: multipart/related;boundary=\"y z\"\n\n--y z\nContent-Type: application/sdp\n\nm=video 9 RTP/AVP 96\n--y z--\n--x--",
                true
            ),
        ] as [(String, Bool)])
    func `looks for it in session descriptions alone`(body: String, offersVideo: Bool) {
        #expect(read("INVITE", [("Content-Type", "multipart/mixed;boundary=x")], body: body).offersVideo == offersVideo)
        #expect(!read("INVITE", [("Content-Type", "multipart/mixed")], body: body).offersVideo)
    }

    @Test(
        arguments: [
            ([("Require", "100rel")], true), ([("require", "timer , 100REL")], true),
            ([("Require", "timer"), ("Require", "100rel,x")], true),
            ([("Require", "timer, 100relay,,")], false), ([("Supported", "100rel")], false), ([("Require", "")], false),
        ] as [([(String, String)], Bool)])
    func `knows a caller who takes provisional answers with RSeq only`(headers: [(String, String)], requires: Bool) {
        #expect(read("INVITE", headers).requiresReliableAnswers == requires)
    }

    @Test func `survives any bytes`() {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        let alphabet = Array("\r\n\t :;,<>\"\\=%@?aAoOtT\u{0}é0pn-purr".utf8) + [0xFF, 0x80]
        let names = [
            "to", "f", "i", "c", "l", "o", "route", "reason", "priority", "replaces", "x-fs-message-type", "", "x",
        ]
        func text() -> [UInt8] {
            (0..<40).map { _ in
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                return alphabet[Int(state % UInt64(alphabet.count))]
            }
        }
        for _ in 0..<2000 {
            var reader = RequestReader(method: text().span, uri: text().span)
            for name in names { reader.header(name: name.utf8.span, value: text().span) }
            reader.body(text().span)
            let request = reader.finish()
            #expect(request.purr.utf8.count <= 40 && !request.purr.utf8.contains { $0 < 0x20 })
        }
    }
}

@Suite struct `The requests that wake` {
    @Test(arguments: ["INVITE,MESSAGE", " invite\tMessage ", "INVITE, ,MESSAGE,"])
    func `are named in any case`(setting: String) throws {
        let methods = try WakingMethods(setting: setting)
        #expect(methods.contains("INVITE") && methods.contains("MESSAGE"))
        #expect(!methods.contains("invite") && !methods.contains("REFER"))
    }

    @Test func `may be none`() throws {
        let methods = try WakingMethods(setting: "")
        #expect(WakingMethods.known.allSatisfy { !methods.contains($0) })
    }

    @Test(arguments: ["ACK", "BYE", "INVITE, CANCEL", "INVTE", "INVITE;MESSAGE"])
    func `are no others than those that can`(setting: String) {
        #expect(throws: WakingMethods.Mistake.self) { try WakingMethods(setting: setting) }
    }
}

@Suite struct `The body of a MESSAGE` {
    @Test(arguments: [
        ("", MessageBody.text), ("text/plain", .text), ("TEXT/HTML; charset=utf-8", .text),
        ("message/cpim", .other), ("application/vnd.gsma.rcs-ft-http+xml", .other), ("texture/x", .other),
    ])
    func `is told by its type`(type: String, body: MessageBody) {
        #expect(MessageBody(contentType: type) == body)
    }

    @Test(arguments: [
        "application/im-iscomposing+xml", "Application/IM-isComposing+XML ;charset=x", " message/imdn+xml",
    ])
    func `may be no news to a user`(type: String) {
        guard case .notice = MessageBody(contentType: type) else {
            Issue.record("\(type) would wake a phone")
            return
        }
    }
}
