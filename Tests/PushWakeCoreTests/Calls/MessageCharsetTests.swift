// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

private func textRead(_ body: [UInt8], as contentType: String) -> String {
    var reader = RequestReader(method: "MESSAGE".utf8.span, uri: "sip:bob@example.org".utf8.span)
    reader.header(name: "Content-Type".utf8.span, value: contentType.utf8.span)
    reader.body(body.span)
    return reader.finish().text
}

@Suite struct `The charset of a MESSAGE` {
    private let latin1: [UInt8] = [0x47, 0x72, 0xFC, 0xDF, 0x65]
    private let bigEndian: [UInt8] = [0x00, 0x48, 0x00, 0xE9, 0xD8, 0x3D, 0xDE, 0x00]
    private let littleEndian: [UInt8] = [0x48, 0x00, 0xE9, 0x00, 0x3D, 0xD8, 0x00, 0xDE]

    @Test(arguments: ["ISO-8859-1", "\"iso-8859-1\"", "latin1; format=flowed"])
    func `may be Latin-1`(charset: String) {
        #expect(textRead(latin1, as: "text/plain; charset=\(charset)") == "Gr\u{FC}\u{DF}e")
        #expect(textRead([], as: "text/plain; charset=\(charset)").isEmpty)
    }

    @Test func `may be UTF-16, in an order that a mark or the name tells`() {
        let text = "H\u{E9}\u{1F600}"
        #expect(textRead(bigEndian, as: "text/plain;charset=utf-16") == text)
        #expect(textRead([0xFE, 0xFF] + bigEndian, as: "text/plain;charset=UTF-16") == text)
        #expect(textRead([0xFF, 0xFE] + littleEndian, as: "text/plain;Charset=UTF-16") == text)
        #expect(textRead(bigEndian, as: "text/plain;charset=utf-16be") == text)
        #expect(textRead(littleEndian, as: "text/plain;charset=utf-16le") == text)
        #expect(textRead([0xFF, 0xFE] + littleEndian, as: "text/plain;charset=utf-16le") == text)
    }

    @Test func `may be broken UTF-16`() {
        for body in [[], [0xFF], [0xFE, 0xFF], [0xFF, 0xFE, 0x00]] as [[UInt8]] {
            #expect(textRead(body, as: "text/plain;charset=utf-16").isEmpty)
        }
        #expect(textRead([0xD8, 0x3D, 0x00, 0x48], as: "text/plain;charset=utf-16") == "\u{FFFD}H")
    }

    @Test(arguments: ["windows-1252", "CP1252", "iso-8859-1"])
    func `may be what browsers read Latin-1 as`(charset: String) {
        let quoted: [UInt8] = [0x93, 0x35, 0xA0, 0x80, 0x94, 0x81]
        #expect(textRead(quoted, as: "text/plain; charset=\(charset)") == "\u{201C}5\u{A0}\u{20AC}\u{201D}\u{FFFD}")
        #expect(textRead(Array(0...0xFF), as: "text/plain; charset=\(charset)").unicodeScalars.count == 256)
    }

    @Test(arguments: [
        "", "text/plain", "text/plain;charset=utf-8", "text/plain;charset=us-ascii", "text/plain;charset=",
    ])
    func `is UTF-8 where it is not said, or Latin-1 where it cannot be`(contentType: String) {
        #expect(textRead(Array("H\u{E9}".utf8), as: contentType) == "H\u{E9}")
        #expect(textRead([0x48, 0xE9], as: contentType) == "H\u{E9}")
        #expect(textRead([0x80, 0xE9, 0x20, 0x93], as: contentType) == "\u{20AC}\u{E9} \u{201C}")
        // Cut off in the middle of a character, or damaged.
        #expect(textRead(Array("H\u{E9}llo ".utf8) + [0xF0, 0x9F], as: contentType) == "H\u{E9}llo \u{FFFD}")
        #expect(textRead([0x48, 0xFF] + Array("\u{1F600}".utf8), as: contentType) == "H\u{FFFD}\u{1F600}")
    }

    @Test func `is at least ASCII where it is another one`() {
        #expect(textRead([0x48, 0xE9], as: "text/plain;charset=koi8-r") == "H\u{FFFD}")
        #expect(textRead(Array("H\u{E9}".utf8), as: "text/plain;charset=koi8-r") == "H\u{E9}")
    }

    @Test func `is that of the part that is shown`() {
        let part = Array("--b\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\r\n".utf8) + latin1
        let body = part + Array("\r\n--b--\r\n".utf8)
        #expect(textRead(body, as: "multipart/mixed;boundary=b;charset=utf-8") == "Gr\u{FC}\u{DF}e")
    }
}

@Suite struct `A MESSAGE in HTML` {
    @Test(arguments: ["text/html", "Text/HTML; charset=utf-8"])
    func `wakes its user and shows no markup`(contentType: String) {
        #expect(textRead(Array("<b>Hi</b>".utf8), as: contentType).isEmpty)
        #expect(MessageBody(contentType: contentType) == .text)
    }
}

@Suite struct `A text of a MESSAGE that is longer than any push` {
    private static let most = 5120

    private func kept(_ text: String) -> String { textRead(Array(text.utf8), as: "text/plain") }

    @Test(arguments: [0, 1, 5119, 5120])
    func `is whole up to that`(count: Int) {
        let text = String(repeating: "x", count: count)
        #expect(kept(text) == text)
    }

    @Test(arguments: [
        "x", "\u{E9}", "\u{20AC}", "\u{1F600}", "e\u{301}", "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}",
    ])
    func `ends with a whole character`(character: String) {
        for before in 0..<4 {
            let text = String(repeating: "-", count: before) + String(repeating: character, count: 6000)
            let kept = kept(text)
            #expect(text.hasPrefix(kept) && kept.utf8.count <= Self.most)
            #expect(kept.utf8.count > Self.most - character.utf8.count)
            #expect(kept.count == before + (kept.utf8.count - before) / character.utf8.count)
        }
    }

    @Test func `is cut within a character that is longer than that`() {
        let kept = kept("e" + String(repeating: "\u{301}", count: 30_000))
        #expect(kept.utf8.count > Self.most - 2 && kept.utf8.count <= Self.most)
    }

    @Test func `that a host has read is cut as well`() {
        let text = String(repeating: "x", count: 60_000)
        for event in [PushEvent.chat, .voicemail, nil] {
            let shown = MessageContent.shown(of: text.utf8.span, contentType: "text/plain", codings: "", event)
            #expect(shown.text.utf8.count == Self.most)
        }
    }
}
