// SPDX-License-Identifier: MIT

import Glibc
import PushWakeClient
import PushWakeCore
import PushWakeEngine
import Testing

@Suite struct `Inspection of all settings` {
    @Test(arguments: [
        ([("fastagi_listen", "4573")], "fastagi_listen", LogLevel.error, "write 127.0.0.1:4573"),
        ([("fastagi_listen", "localhost:4573")], "fastagi_listen", .error, "write 127.0.0.1:4573"),
        (
            [("fastagi_listen", "127.0.0.1:4573"), ("fastagi_allow", "10.0.0.0/33")], "fastagi_allow", .error,
            "is not a list of networks"
        ),
        (
            [("fastagi_listen", "0.0.0.0:4573"), ("fastagi_allow", "0.0.0.0/0")], "fastagi_allow", .warning,
            "fastagi_token_file"
        ),
        (
            [("fastagi_listen", "[::]:4573"), ("fastagi_allow", "::/1, 8000::/1")], "fastagi_allow", .warning,
            "Asterisk's address"
        ),
        (
            [("fastagi_listen", "127.0.0.1:4573"), ("fastagi_token_file", "/nonexistent")], "fastagi_token_file",
            .warning, "no first line"
        ),
        ([("upper_servers", "pbx.example.com, a b:0")], "upper_servers", .error, "is not a server"),
        ([("store_path", "~/bindings.db")], "store_path", .error, "only shells know"),
        ([("upper_contact", "sip:gw")], "upper_contact", .error, "is neither a host nor"),
        ([("secret_key_file", "/nonexistent")], "secret_key_file", .warning, "openssl rand -hex 32"),
        ([("secret_key_file", "/etc/hostname")], "secret_key_file", .warning, "64 hex digits"),
        (
            [("vapid_key", "/nonexistent"), ("vapid_subject", "mailto: a@example.com")], "vapid_subject", .error,
            "write mailto:you@example.com"
        ),
        ([("apns_key", "/nonexistent"), ("apns_topic", "null")], "apns_topic", .warning, "leave apns_topic empty"),
        (
            [("apns_cert", "/nonexistent"), ("apns_topic", "packagename")], "apns_topic", .warning,
            "leave apns_topic empty"
        ),
        ([("apns_topic", "com.example phone")], "apns_topic", .error, "write a bundle id"),
        (
            [("apns_key", "/nonexistent"), ("apns_key_id", "ABC"), ("apns_team_id", "DEF123GHIJ")], "apns_key_id",
            .warning, "ten characters"
        ),
        (
            [("apns_key", "/AuthKey_ABC123DEFG.p8"), ("apns_team_id", "DEF123GHIJK")], "apns_team_id", .warning,
            "ten characters"
        ),
    ])
    func `names the setting and the remedy`(
        values: [(String, String)], setting: String, level: LogLevel, remedy: String
    ) throws {
        let finding = try inspect(values).first { $0.setting == setting }
        #expect(finding?.level == level)
        #expect(finding?.message.contains(remedy) == true, "\(finding?.message ?? "")")
    }

    @Test(arguments: [
        ("apns_url", "https://api.sandbox.push.apple.com", "apns_environment = sandbox"),
        ("apns_url", "https://api.development.push.apple.com:2197", "apns_environment = sandbox"),
        ("apns_sandbox_url", "https://api.push.apple.com", "leave it out"),
        ("apns_topic", "com.example.phone.voip", "leave apns_topic empty"),
        ("apns_topic", "DEF123GHIJ.com.example.phone", "write com.example.phone, or leave apns_topic empty"),
        ("wake_requests", "MESSAGE, REFER", "add INVITE"), ("wake_requests", "", "add INVITE"),
        ("apns_topic", "https://com.example.phone/", "write one such as com.example.phone"),
        ("silent_after", "3", "write 3000 for 3 s"), ("ignore_same", "9", "write 9000 for 9 s"),
        ("webhook_body", "/etc/body.json", "write @/etc/body.json for what is in it"),
        ("wake_timeout", "4", "write 20 or more"), ("bindings_per_user", "1", "write 4 or more"),
    ])
    func `doubts what is seldom meant`(setting: String, value: String, remedy: String) throws {
        let finding = try inspect([(setting, value)], depth: .surroundings).first { $0.setting == setting }
        #expect(finding?.level == .warning)
        #expect(finding?.message.contains(remedy) == true, "\(finding?.message ?? "")")
    }

    @Test(arguments: ["webhook_providers", "webhook_answers"])
    func `wants the URL of a webhook that somebody has described`(setting: String) throws {
        let value = setting == "webhook_answers" ? "404=token-gone" : "huawei"
        let findings = try inspect([(setting, value)])
        #expect(findings.map(\.setting) == ["webhook_url"] && findings.map(\.level) == [.error])
    }

    @Test(arguments: [
        ("silent_after", "0"), ("silent_after", "-1"), ("engine_timeout", "10"), ("webhook_body", "{}"),
        ("wake_timeout", "5"), ("bindings_per_user", "2"), ("wake_requests", "INVITE"),
        ("apns_url", "https://api.push.apple.com:2197"), ("apns_url", "https://127.0.0.1:4443"),
        ("apns_topic", "com.example.phone"), ("apns_topic", "EXAMPLE.com"),
    ])
    func `does not doubt what may well be meant`(setting: String, value: String) throws {
        #expect(try !inspect([(setting, value)], depth: .surroundings).contains { $0.setting == setting })
    }

    @Test func `takes what is right`() throws {
        let values = [
            ("fastagi_listen", "[::1]:4573"), ("fastagi_allow", "10.0.0.0/8, ::1/128"),
        ]
        #expect(try inspect(values).isEmpty)
        #expect(try inspect([("fastagi_allow", "")]).isEmpty)
        #expect(try inspect([("fastagi_listen", "127.0.0.1:4573"), ("fastagi_allow", "0.0.0.0/0")]).isEmpty)
        #expect(try inspect([("fastagi_listen", "0.0.0.0:4573"), ("fastagi_allow", "10.0.0.0/8")]).isEmpty)
        for topic in ["", "set", "null", "packagename", "com.example.phone"] {
            #expect(try inspect([("apns_topic", topic)]).isEmpty)
        }
        // A certificate with one topic needs none.
        let certified = try inspect([("apns_cert", "/nonexistent"), ("apns_topic", "null")])
        #expect(certified.map(\.setting) == ["apns_cert"])
        let ids = try inspect([("apns_key", "/AuthKey_ABC123DEFG.p8"), ("apns_team_id", "DEF123GHIJ")])
        #expect(ids.map(\.setting) == ["apns_key"])
    }

    @Test func `names templates that no provider has`() throws {
        let directory = try directory(["apsn.json", "README", "fcm.json~", "webpush.com.example.json"])
        defer { remove(directory, ["apsn.json", "README", "fcm.json~", "webpush.com.example.json"]) }
        let findings = try inspect([("template_dir", directory)])
        #expect(findings.map(\.setting) == ["template_dir"])
        #expect(findings.first?.message.contains("\(directory)/apsn.json is for no provider") == true)
    }

    private func inspect(
        _ values: [(String, String)], depth: SettingsInspection.Depth = .keys
    ) throws -> [SettingsInspection.Finding] {
        var settings = Settings()
        for (name, value) in values { try settings.set(name, to: value) }
        return SettingsInspection.inspect(settings, depth: depth)
    }

    private func directory(_ names: [String]) throws -> String {
        var template = Array("/tmp/pushwake-templates-XXXXXX".utf8CString)
        let path = String(cString: try #require(mkdtemp(&template)))
        for name in names {
            let descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT, 0o600)
            #expect(write(descriptor, "{}", 2) == 2)
            close(descriptor)
        }
        return path
    }

    private func remove(_ directory: String, _ names: [String]) {
        for name in names { unlink("\(directory)/\(name)") }
        rmdir(directory)
    }
}
