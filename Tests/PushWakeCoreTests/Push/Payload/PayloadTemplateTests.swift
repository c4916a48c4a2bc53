// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Payload template` {
    private func render(_ source: String, _ content: PushContent, _ binding: Binding = Samples.voip) throws -> [UInt8] {
        var out: [UInt8] = []
        try PayloadTemplate(json: source.utf8).render(
            PayloadValues(binding: binding, content: content, now: 1_700_000_001), into: &out)
        return out
    }

    private func refusal(_ source: String, _ rules: PayloadRules = PayloadRules()) -> PayloadTemplateError? {
        do throws(PayloadTemplateError) {
            _ = try PayloadTemplate(json: source.utf8, rules: rules)
            return nil
        } catch { return error }
    }

    @Test(arguments: [
        ("PACKAGE", "com.example.phone"), ("TOKEN", "0a1b2c3d4e5f"), ("TO", "bob"), ("TOUSERNAME", "bob"),
        ("TYPE", "0"), ("FROM", "Alice"), ("FROMUSERNAME", "alice"), ("FROMDISPLAYNAME", "Alice"),
        ("CALLID", "call-1@192.0.2.9"), ("PRIORITY", "high"), ("NPRIORITY", "PRIORITY_MAX"), ("APRIORITY", "10"),
        ("TTLNUM", "40"), ("PUSHTYPE", "alert"), ("SOUND", "default"), ("MSG", "hi"),
        ("MESSAGE", "Incoming VoIP call from Alice"), ("TITLE", "Call from alice"),
        ("BODY", "Incoming VoIP call from Alice"), ("<ttl>", "40"), ("<uid>", "<urn:uuid:1>"),
        ("<from-uri>", "sip:alice@example.com"), ("<from-name>", "Alice"), ("<call-id>", "call-1@192.0.2.9"),
        ("<from>", "Alice"), ("<date>", "2023-11-14 22:13:21"), ("<chatroom-addr>", ""), ("<badge-boolean>", "1"),
        ("<alert-msg-id>", "IC_MSG"), ("<sound-id>", "empty"), ("<device-token>", "0a1b2c3d4e5f"),
        ("<event>", "call"), ("<from-host>", "example.com"), ("<to-uri>", "sip:bob@example.com"),
        ("<sent-at>", "1700000000"), ("<expires-at>", "1700000041"),
        ("<call-uuid>", "67e8c0ae-5111-56b2-ad58-7e073f560bc5"), ("<video>", "false"), ("<call-sound>", ""),
        ("<mutable-content>", "0"), ("<mutable-notice>", "0"),
    ])
    func `fills in every keyword`(keyword: String, value: String) throws {
        let out = try render("{\"k\": \"x \(keyword)!\"}", Samples.content(.call, text: "hi"))
        #expect(JSON.parse(out)?["k"] == .string("x \(value)!"))
    }

    @Test func `takes the longest word and leaves words that only contain a keyword`() throws {
        let out = try render(
            #"{"a":"FROMUSERNAMEs TTLNUMs PACKAGE.voip","b":"STORE TOKENS PRIORITY_MAX TO2 <nobody> a<b"}"#,
            Samples.content(.call))
        #expect(JSON.parse(out)?["a"] == .string("alices 40s com.example.phone.voip"))
        #expect(JSON.parse(out)?["b"] == .string("STORE TOKENS PRIORITY_MAX TO2 <nobody> a<b"))
    }

    @Test func `gives valid JSON for every byte in a caller name`() throws {
        for byte in UInt8.min...UInt8.max {
            var content = Samples.content(.call)
            content.fromDisplay = String(decoding: [0x41, byte, 0x42], as: UTF8.self)
            let value = JSON.parse(try render(#"{"n":"FROM","t":TYPE}"#, content))
            #expect(value?["n"] == .string(content.fromDisplay), "byte \(byte)")
        }
    }

    @Test(arguments: [
        #"","admin":"1"#, #"\"#, "A\\zB", "\u{0}", "tab\tnew\r\nline", "Zoë 🦊 \u{2028}", "\u{7F}", "</script>",
    ])
    func `lets no caller name break out of its string`(name: String) throws {
        var content = Samples.content(.call)
        content.fromDisplay = name
        let value = JSON.parse(try render(#"{"n":"<from-name>"}"#, content))
        #expect(value?.memberNames == ["n"])
        #expect(value?["n"] == .string(name))
    }

    @Test func `replaces bytes that are not UTF-8`() throws {
        var content = Samples.content(.call)
        content.fromDisplay = String(decoding: [0x4A, 0xFF, 0xC3], as: UTF8.self)
        #expect(JSON.parse(try render(#"{"n":"FROM"}"#, content))?["n"] == .string("J\u{FFFD}\u{FFFD}"))
    }

    @Test(arguments: ["--EOF--", "--EOF\u{2014}", "\u{2014}EOF\u{2014}", "\u{2013}EOF\u{2013}"])
    func `ignores what stands below the end mark`(mark: String) throws {
        let out = try render("{\"a\":1}\n\(mark)\nnotes } { \"", Samples.content(.call))
        #expect(String(decoding: out, as: UTF8.self) == "{\"a\":1}")
    }

    @Test(arguments: [
        ("", 1, 1), ("{", 1, 2), ("{\"a\":1,}", 1, 8), ("{\n  \"a\": 1\n  \"b\": 2\n}", 3, 3), ("[1]", 1, 1),
        ("{\"a\": FROM}", 1, 7), ("{\"a\": 01}", 1, 7), ("{\"a\": \"x}", 1, 10), ("{\"a\": \"\\q\"}", 1, 8),
        ("{\"a\": [1,]}", 1, 10), ("{\"a\": tru}", 1, 7), ("{\"a\": 1} x", 1, 10), ("{a: 1}", 1, 2),
        ("{\"a\": \"\\ud800\"}", 1, 8), ("{\"a\": 1.}", 1, 7), ("{\"a\": -}", 1, 7), ("{\"a\": <nothing>}", 1, 7),
        ("{\"a\"\n\n1}", 3, 1), ("{\"a\": \"\u{1}\"}", 1, 8), ("{'a': 1}", 1, 2),
        ("{\"a\": 1,\n \"a\": 2}", 2, 2), ("{\"x\": [{\"TOKEN\": 1, \"TOKEN\": 2}]}", 1, 21),
    ])
    func `is refused with line and column when it is not JSON`(source: String, line: Int, column: Int) {
        let error = refusal(source)
        #expect(error?.line == line)
        #expect(error?.column == column)
        #expect(error?.message.isEmpty == false)
    }

    @Test func `is refused when its own text is not UTF-8`() {
        #expect(throws: PayloadTemplateError.self) {
            try PayloadTemplate(json: Array(#"{"a":""#.utf8) + [0xC3, 0x28] + Array("\"}".utf8))
        }
    }

    @Test func `takes any number that a reader of JSON takes, and no larger one`() {
        for number in ["-0", "9223372036854775807", "-9223372036854775808", "1.5e300", "0.1E-400", "12e0"] {
            #expect(refusal("{\"a\": \(number)}") == nil, "\(number)")
        }
        for number in ["9223372036854775808", "-99999999999999999999999999999", "1e999", "-2.5E400"] {
            let error = refusal("{\"a\": \(number)}")
            #expect(error?.column == 7 && error?.message.contains("larger") == true, "\(number)")
        }
    }

    @Test func `is refused when it is nested without end`() {
        let deep = String(repeating: "{\"a\":", count: 5000) + "1" + String(repeating: "}", count: 5000)
        #expect(refusal(deep)?.message.contains("nested") == true)
    }

    @Test func `accepts numbers without quotes where the keyword is a number`() throws {
        let out = try render(
            #"{"t":TYPE,"l":TTLNUM,"p":APRIORITY,"b":<badge-boolean>,"s":<sent-at>}"#, Samples.content(.chat))
        #expect(String(decoding: out, as: UTF8.self) == #"{"t":1,"l":40,"p":5,"b":1,"s":1700000000}"#)
    }

    @Test(arguments: [(false, "false"), (true, "true")])
    func `says whether there is video as JSON does`(hasVideo: Bool, word: String) throws {
        var content = Samples.content(.call)
        content.hasVideo = hasVideo
        let out = try render(#"{"v":<video>,"t":"<video>"}"#, content)
        #expect(String(decoding: out, as: UTF8.self) == "{\"v\":\(word),\"t\":\"\(word)\"}")
    }

    @Test func `may have one name in several objects, and names that differ in an escape alone`() throws {
        let source = #"{"a":{"a":1},"b":[{"a":2},{"a":3}],"x\ny":4,"x\ty":5}"#
        #expect(String(decoding: try render(source, Samples.content(.call)), as: UTF8.self) == source)
    }

    @Test func `leaves out dropped members and their commas`() throws {
        var out: [UInt8] = []
        let template = try PayloadTemplate(
            json: #"{"a":1,"b":{"c":2,"d":"TOKEN"},"e":3,"f":4}"#.utf8,
            rules: PayloadRules(dropped: ["a", "b.c", "f"]))
        template.render(PayloadValues(binding: Samples.voip, content: Samples.content(.call)), into: &out)
        #expect(String(decoding: out, as: UTF8.self) == #"{"b":{"d":"0a1b2c3d4e5f"},"e":3}"#)
    }

    @Test func `gives up texts from the least important and never the call id`() throws {
        let template = try PayloadTemplate(
            json: #"{"c":"CALLID","m":"MSG","n":"FROMDISPLAYNAME","t":"TITLE","u":"<from-uri>"}"#.utf8)
        var content = Samples.content(.chat, text: String(repeating: "ü", count: 3000))
        var out: [UInt8] = []
        #expect(template.render(PayloadValues(binding: Samples.voip, content: content), limit: 4096, into: &out))
        let shortened = JSON.parse(out)
        // All that fits, less than a letter short of it.
        #expect(out.count > 4094)
        guard case .string(let text)? = shortened?["m"] else {
            Issue.record("no text")
            return
        }
        #expect(text.count > 1900 && text.allSatisfy { $0 == "ü" })
        #expect(shortened?["n"] == .string("Alice"))

        content.fromDisplay = String(repeating: "\"", count: 5000)
        out = []
        #expect(template.render(PayloadValues(binding: Samples.voip, content: content), limit: 4096, into: &out))
        let bare = JSON.parse(out)
        #expect(out.count > 4094)
        #expect(bare?["n"] == .string(String(repeating: "\"", count: 128)))
        #expect(bare?["c"] == .string("call-1@192.0.2.9"))
        #expect(bare?["u"] == .string("sip:alice@example.com"))

        content.callID = String(repeating: "c", count: 5000)
        out = [1, 2]
        #expect(!template.render(PayloadValues(binding: Samples.voip, content: content), limit: 4096, into: &out))
        #expect(out == [1, 2])
    }

    @Test(arguments: [1, 400, 440, 480, 500, 511, 512, 513, 1000, 1023, 1024, 4000, 100_000])
    func `finds room for any length, behind what is there`(count: Int) throws {
        let template = try PayloadTemplate(json: #"{"m":"MSG","s":<sent-at>,"c":"CALLID"}"#.utf8)
        for character in ["x", "\"", "\u{1}", "ü"] {
            var content = Samples.content(.chat, text: String(repeating: character, count: count))
            content.sentAt = 1_700_000_001
            let values = PayloadValues(binding: Samples.voip, content: content)
            var out: [UInt8] = []
            template.render(values, into: &out)
            #expect(JSON.parse(out)?["m"] == .string(content.text))
            #expect(JSON.parse(out)?["c"] == .string(content.callID))
            var exact: [UInt8] = [1, 2]
            let fits = template.render(values, limit: out.count, into: &exact)
            #expect(fits && exact == [1, 2] + out)
            var shorter: [UInt8] = []
            #expect(template.render(values, limit: max(out.count - 1, 600), into: &shorter))
            #expect(shorter.count <= max(out.count - 1, 600))
        }
    }

    @Test(arguments: ["\u{1F600}", "e\u{301}", "ü", "\r\n", "\u{1F468}\u{200D}\u{1F469}"])
    func `cuts no character of a long name in two`(character: String) throws {
        let template = try PayloadTemplate(json: #"{"n":"<from-name>"}"#.utf8)
        for offset in 0..<4 {
            var content = Samples.content(.call)
            content.fromDisplay = String(repeating: "x", count: offset) + String(repeating: character, count: 3000)
            var out: [UInt8] = []
            let values = PayloadValues(binding: Samples.voip, content: content)
            #expect(template.render(values, limit: 4096, into: &out))
            guard case .string(let name)? = JSON.parse(out)?["n"] else {
                Issue.record("no name")
                continue
            }
            #expect(name.utf8.count > 120 && name.utf8.count <= 128)
            #expect(content.fromDisplay.unicodeScalars.starts(with: name.unicodeScalars))
        }
    }

    @Test(arguments: [
        "\u{1F600}", "e\u{301}", "ü", "\r\n", "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", "\u{1F1E9}\u{1F1EA}", "\"",
        "\u{1F44B}\u{1F3FD}", "\u{915}\u{30F}",
    ])
    func `has as many whole characters of a text as fit`(character: String) throws {
        let template = try PayloadTemplate(json: #"{"m":"MSG","b":"BODY"}"#.utf8)
        for offset in 0..<4 {
            let text = String(repeating: "x", count: offset) + String(repeating: character, count: 3000)
            let values = PayloadValues(binding: Samples.voip, content: Samples.content(.chat, text: text))
            var out: [UInt8] = []
            #expect(template.render(values, limit: 4096, into: &out))
            guard case .string(let kept)? = JSON.parse(out)?["m"] else {
                Issue.record("no text")
                continue
            }
            #expect(text.hasPrefix(kept) && kept.dropFirst(offset).allSatisfy { String($0) == character })
            var more: [UInt8] = []
            let longer = String(text.prefix(kept.count + 1))
            template.render(
                PayloadValues(binding: Samples.voip, content: Samples.content(.chat, text: longer)), into: &more)
            #expect(out.count <= 4096 && more.count > 4096)
        }
    }

    @Test(arguments: [0, 1, 5, 4000, 60_000]) func `has nothing of a character that does not fit`(marks: Int) throws {
        let template = try PayloadTemplate(json: #"{"m":"MSG","c":"CALLID"}"#.utf8)
        let text = "e" + String(repeating: "\u{301}", count: marks)
        let values = PayloadValues(binding: Samples.voip, content: Samples.content(.chat, text: text))
        var out: [UInt8] = []
        #expect(template.render(values, limit: 4096, into: &out))
        #expect(JSON.parse(out)?["m"] == .string(marks < 4000 ? text : ""))
    }

    @Test func `escapes for URLs in a template that is not JSON`() {
        var content = Samples.content(.call)
        content.fromDisplay = "A&b=ü/?"
        var out: [UInt8] = []
        PayloadTemplate(text: "/push?n=FROM&t=<event>&d=<date>".utf8, escape: .percent).render(
            PayloadValues(binding: Samples.voip, content: content, now: 0), into: &out)
        #expect(
            String(decoding: out, as: UTF8.self) == "/push?n=A%26b%3D%C3%BC%2F%3F&t=call&d=1970-01-01%2000%3A00%3A00")
    }

    @Test(arguments: [
        ("sip:alice@example.com", "alice", "example.com"), ("sips:al:pw@h:5061;x=y", "al", "h"),
        ("tel:+4930;phone-context=x", "+4930", ""), ("sip:example.com", "", "example.com"),
        ("sip:a@[2001:db8::1]:5060", "a", "[2001:db8::1]"), ("", "", ""), ("sip:", "", ""), ("@", "", ""),
    ])
    func `finds user and host of a caller`(uri: String, user: String, host: String) throws {
        var content = Samples.content(.call)
        content.fromURI = uri
        let value = JSON.parse(try render(#"{"u":"FROMUSERNAME","h":"<from-host>"}"#, content))
        #expect(value?["u"] == .string(user))
        #expect(value?["h"] == .string(host))
    }

    @Test func `keeps the caller to itself when told to`() {
        var out: [UInt8] = []
        let values = PayloadValues(
            binding: Samples.voip, content: Samples.content(.call), settings: PayloadSettings(showsCaller: false))
        PayloadTemplate(text: "FROM|<from-uri>|<from-name>|TITLE|BODY".utf8, escape: .line).render(values, into: &out)
        #expect(String(decoding: out, as: UTF8.self) == "|||Incoming call|Incoming VoIP call")
    }

    @Test(arguments: [
        (PushEvent.call, "pn-call-str", "IC_MSG"), (.chat, "pn-msg-str", "IM_MSG"),
        (.groupChat, "pn-groupchat-str", "GC_MSG"), (.voicemail, "pn-mwi-str", "MWI_NOTIFY_STR"),
    ])
    func `shows the string that the phone asked for`(event: PushEvent, attribute: String, standard: String) throws {
        var binding = Samples.remote
        let source = #"{"k":"<alert-msg-id>"}"#
        #expect(JSON.parse(try render(source, Samples.content(event), binding))?["k"] == .string(standard))
        binding.attributes[attribute] = "Mine"
        #expect(JSON.parse(try render(source, Samples.content(event), binding))?["k"] == .string("Mine"))
    }

    @Test(arguments: [
        (PushEvent.refresh, PushOccasion.usual, "normal"), (.refresh, .requestWaiting, "high"), (.call, .usual, "high"),
        (.voicemail, .usual, "normal"), (.refer, .usual, "high"),
    ])
    func `is in a hurry when a request waits`(event: PushEvent, occasion: PushOccasion, priority: String) throws {
        var content = Samples.content(event)
        content.occasion = occasion
        #expect(JSON.parse(try render(#"{"p":"PRIORITY"}"#, content))?["p"] == .string(priority))
    }

    @Test(arguments: [
        (PushEvent.voicemail, "New voice message"), (.refer, "Request from Alice"), (.refresh, ""),
    ])
    func `names nobody who has not called`(event: PushEvent, title: String) throws {
        #expect(JSON.parse(try render(#"{"t":"TITLE"}"#, Samples.content(event)))?["t"] == .string(title))
    }

    @Test(arguments: [(PushEvent.call, "ring.caf"), (.chat, "ding.caf"), (.voicemail, "ding.caf")])
    func `plays the sound that the phone asked for`(event: PushEvent, sound: String) throws {
        var binding = Samples.remote
        binding.attributes["pn-call-snd"] = "ring.caf"
        binding.attributes["pn-msg-snd"] = "ding.caf"
        let value = JSON.parse(try render(#"{"a":"SOUND","b":"<alert-sound>"}"#, Samples.content(event), binding))
        #expect(value?["a"] == .string(sound))
        #expect(value?["b"] == .string(sound))
    }

    @Test(arguments: [
        (PushEvent.call, "0"), (.chat, "1"), (.cancel, "2"), (.custom, "3"), (.refresh, "4"), (.missed, "3"),
        (.answeredElsewhere, "2"), (.groupChat, "1"), (.voicemail, "3"), (.refer, "3"),
    ])
    func `gives apps of Mizutech a type that they know`(event: PushEvent, type: String) throws {
        #expect(JSON.parse(try render(#"{"t":"TYPE"}"#, Samples.content(event)))?["t"] == .string(type))
    }
}
