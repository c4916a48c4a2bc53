// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `A set of settings` {
    @Test(
        arguments: [
            (.call, 25), (.cancel, 30), (.answeredElsewhere, 30), (.chat, 100), (.groupChat, 100), (.custom, 100),
            (.missed, 100), (.refresh, 100), (.voicemail, 100), (.refer, 20),
        ] as [(PushEvent, UInt32)])
    func `tell how long a push is of use`(event: PushEvent, seconds: UInt32) throws {
        var settings = Settings()
        try settings.set("wake_timeout", to: "25")
        try settings.set("message_ttl", to: "100")
        expectEqual(settings.timeToLive(of: event), seconds)
    }

    @Test(arguments: [(15, 15), (25, 20)])
    func `tell that a push for a request that waits is of no use after it`(timeout: Int, seconds: UInt32) throws {
        var settings = Settings()
        try settings.set("wake_timeout", to: String(timeout))
        expectEqual(settings.timeToLive(of: .refresh, .requestWaiting), seconds)
        expectEqual(settings.timeToLive(of: .refer), seconds)
    }

    @Test func `hold the defaults of the table at first`() {
        let settings = Settings()
        #expect(settings.text(.apnsURL) == "https://api.push.apple.com")
        #expect(settings.integer(.wakeTimeout) == 40)
        #expect(!settings.flag(.send555))
        #expect(!settings.isChanged(.wakeTimeout))
    }

    @Test(arguments: SettingKey.allCases)
    func `have a row for every key, whose default fits it`(key: SettingKey) throws {
        let row = SettingsTable.description(of: key)
        #expect(!row.name.description.isEmpty)
        #expect(!row.help.description.isEmpty)
        #expect(SettingsTable.key(named: row.name.description) == key)
        var settings = Settings()
        try settings.set(key, to: row.defaultValue.description)
        #expect(settings == Settings())
    }

    @Test(arguments: [
        ("wake_timeout", "0", "write a number from 1 to 600 (s)"),
        ("wake_timeout", "4x", "write a number from 1 to 600 (s)"),
        ("wake_timeout", "99999999999999999999", "write a number from 1 to 600 (s)"),
        ("send_555", "maybe", "write 0 or 1"),
        ("store", "mysql", "write sqlite, memory, redis://"),
        ("payload", "fancy", "write one of auto, plain, mizutech, flexisip"),
        ("payload", "plain, flexisip", "PROVIDER.APP=PAYLOAD"),
        ("payload", "plain, huawei=flexisip", "write apns, fcm or webpush"),
        ("payload", "apns.=flexisip", "write apns, fcm or webpush"),
        ("payload", "", "write one of auto, plain, mizutech, flexisip"),
        ("fcm_url", "https://fcm.googleapis.com/fcm/send", "Google switched off the legacy FCM API in 2024"),
        ("apns_url", "https://gateway.push.apple.com:2195", "Apple switched off its binary protocol in 2021"),
        ("google-projects-api-keys", "1:AAAA", "Google switched off the legacy FCM API in 2024"),
        ("fcm_serverurl_v1", "https://x", "here it is called fcm_url"),
        ("no-badge", "1", "here it is called badge"),
        ("pushnotification_apnspushtype", "alert", "here it is called apns_push_type"),
        ("apns_url", "http://api.push.apple.com", "write https://host or https://host:port"),
        ("apns_key", "/etc/a\nb", "control character"),
        ("apns_key", "-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----", "not what is in it"),
        ("fcm_key", "{\n  \"type\": \"service_account\"\n}", "not what is in it"),
        ("wake_timout", "4", "did you mean wake_timeout?"),
        ("fcm_key1001", "x", "numbers go from 1 to 1000"),
        ("fcm_serverurl", "https://x", "here it is called fcm_url"),
        ("fcm_protocol", "0", "Google switched off the legacy FCM API in 2024"),
        ("pushkit_serverurl_legacy", "x", "Apple switched off its binary protocol in 2021"),
        ("zzzzzzzzzzzzzzzz", "1", "docs/settings.md"),
        ("wake_requests", "INVITE, ACK", "write some of INVITE, MESSAGE, REFER, NOTIFY"),
        ("enable-message-summaries-pn", "1", "here it is called wake_requests"),
        ("load_chat", "sometimes", "write one of never, low_load, unless_overloaded, always"),
        ("pushnotification_chat", "2", "here it is called load_chat"),
        ("pushnotification", "1", "here it is called load_call"),
        ("http_proxy", "proxy.example.com", "write host:port or http://user:password@host:port"),
    ])
    func `name the setting and the remedy when a value does not fit`(name: String, value: String, remedy: String) {
        var settings = Settings()
        let error = #expect(throws: SettingError.self) { try settings.set(name, to: value) }
        #expect(error?.setting == name)
        #expect(error?.message.contains(remedy) == true, "\(error?.message ?? "")")
        #expect(settings == Settings())
    }

    @Test(arguments: ["AAAAabcdefg:APA91bSECRET", "AIzaSySECRET"])
    func `know a key of Google's dead API, and do not repeat it`(key: String) {
        var settings = Settings()
        for name in ["fcm_key", "fcm_key1"] {
            let error = #expect(throws: SettingError.self) { try settings.set(name, to: key) }
            #expect(error?.message.contains("use fcm_key with a service-account file") == true)
            #expect(error?.message.contains("SECRET") == false)
        }
    }

    @Test func `are read from a file with comments, sections and quotes`() {
        var settings = Settings()
        let problems = settings.read(
            file:
                "[general]\r\n; a comment\n# another\napns_team_id = \"DEF123GHIJ\"\nwake_timeout => 20\n\nsend_555=yes\n"
        )
        #expect(problems.isEmpty)
        #expect(settings.text(.apnsTeamID) == "DEF123GHIJ")
        #expect(settings.integer(.wakeTimeout) == 20)
        #expect(settings.flag(.send555))
    }

    @Test func `are read from a file that begins with a byte order mark`() {
        var settings = Settings()
        #expect(settings.read(file: "\u{FEFF}wake_timeout = 20\n").isEmpty)
        #expect(settings.integer(.wakeTimeout) == 20)
    }

    @Test(arguments: [true, false])
    func `say of a file in UTF-16 that it is one, in one line`(hasMark: Bool) {
        let text = (hasMark ? "\u{FFFD}\u{FFFD}" : "") + "wake_timeout = 20\npersist = 7\n".map { "\($0)\0" }.joined()
        var settings = Settings()
        let problems = settings.read(file: text)
        #expect(problems.map(\.line) == [1])
        #expect(problems.first?.error.message == "it is UTF-16, as Windows writes it; save it as UTF-8")
        #expect(settings == Settings())
    }

    @Test func `report the line of what is wrong in a file and keep the rest`() {
        var settings = Settings()
        let problems = settings.read(file: "wake_timeout = 20\nnonsense\nstore = oracle\n[other]\npersist = 7\n")
        #expect(problems.map(\.line) == [2, 3, 4])
        #expect(settings.integer(.wakeTimeout) == 20)
        #expect(settings.integer(.persist) == 7)
    }

    @Test(arguments: [
        ("/etc/a.json            # every app that is not named below", "/etc/a.json"),
        ("/etc/a.json ; as in Asterisk", "/etc/a.json"),
        ("/etc/a.json\t# tab", "/etc/a.json"),
        ("# nothing but a comment", ""),
        ("/etc/a#1.json", "/etc/a#1.json"),
        ("\"/etc/a # 1.json\"", "/etc/a # 1.json"),
        ("\"/etc/a.json\"  # quoted", "/etc/a.json"),
        ("\"a\":\"b\"", "a\":\"b"),
        ("\"open", "\"open"),
    ])
    func `are read without the comment behind them`(written: String, value: String) {
        var settings = Settings()
        #expect(settings.read(file: "fcm_key = \(written)").isEmpty)
        #expect(settings.text(.fcmKey) == value)
    }

    @Test(arguments: [
        "\"<text>\"", "call # <from>", "> ; x", " a ", "line\u{2028}end", "a=b", "\u{85}", "# all",
    ])
    func `reach the engine to the letter`(value: String) throws {
        var settings = Settings()
        try settings.set(.webhookBody, to: value)
        try settings.set("fcm_app1", to: value)
        var copy = Settings()
        #expect(copy.take(lines: settings.lines() + "\n").isEmpty)
        #expect(copy == settings)
        #expect(copy.text(.webhookBody) == value)
    }

    /// What is behind each quote is not read to its end.
    @Test(.timeLimit(.minutes(1))) func `are read in time from a line of many quotes`() {
        var settings = Settings()
        let problems = settings.read(
            file: "apns_key = " + String(repeating: "\"", count: 200_000) + "x\nstore = memory\n")
        #expect(problems.map(\.line) == [1])
        #expect(settings.text(.store) == "memory")
    }

    @Test func `survive the way to the engine`() throws {
        var settings = Settings()
        try settings.set("store_path", to: "/tmp/a file.db")
        try settings.set("wake_timeout", to: "5")
        var copy = Settings()
        #expect(copy.take(lines: settings.lines()).isEmpty)
        #expect(copy == settings)
    }
}
