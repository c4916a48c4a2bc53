// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

private let secret = "s3cretWord"

/// A directory of the test's own.
private final class Place {
    let path: String

    init() throws {
        var template = Array("/tmp/pushwake-wrong-XXXXXX".utf8CString)
        path = String(cString: try #require(mkdtemp(&template)))
    }

    deinit {
        for name in (try? FileContent.names(in: path, ending: "")) ?? [] { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    func write(_ name: String, _ text: String) throws -> String {
        let file = try #require(fopen("\(path)/\(name)", "w"))
        defer { fclose(file) }
        #expect(fputs(text, file) >= 0)
        return "\(path)/\(name)"
    }
}

private func settings(_ values: [(String, String)]) throws -> Settings {
    var settings = Settings()
    for (name, value) in values { try settings.set(name, to: value) }
    return settings
}

@Suite struct `Files that cannot be used` {
    private let place: Place

    init() throws { place = try Place() }

    @Test(arguments: [
        ("fcm_key", "AAAAabc:\(secret)"), ("fcm_key", "{\"private_key\":\"\(secret)\"}"), ("fcm_key1", secret),
        ("apns_key", "-----BEGIN PRIVATE KEY-----\(secret)"), ("vapid_key", secret), ("harmonyos_key", secret),
        ("apns_cert", secret), ("apns_cert_password_file", secret), ("secret_key_file", secret),
        ("webhook_secret_file", secret), ("webhook_headers", secret), ("fastagi_token_file", secret),
        ("http_token_file", secret), ("http_proxy_auth", secret), ("flexiapi_key_file", secret),
        ("store_password_file", secret),
    ])
    func `are not named by what was pasted in place of their name`(name: String, value: String) throws {
        let values = try settings(
            [
                (name, value), ("apns_team_id", "ABCDE12345"), ("webhook_url", "https://push.example.com/"),
                ("flexiapi_url", "https://flexi.example.com/"), ("flexiapi_from", "sip:a@example.com"),
                ("fastagi_listen", "127.0.0.1:45731"), ("http_proxy", "127.0.0.1:3128"),
                ("http_listen", "127.0.0.1:45732"),
                ("vapid_subject", "mailto:a@example.com"),
            ].filter { SettingsTable.key(named: $0.0) != nil || $0.0 == name })
        let findings = SettingsInspection.inspect(values, depth: .surroundings).map { "\($0.setting): \($0.message)" }
        let problems = Delivery(settings: values, loop: try Loop(), log: EngineLog(threshold: .error) { _, _ in })
            .open()
        #expect(!(findings + problems).contains { $0.contains(secret) }, "\(findings + problems)")
    }

    @Test func `are named when a name is meant`() throws {
        let findings = SettingsInspection.inspect(try settings([("fcm_key", "keys/absent.json")]), depth: .keys)
        #expect(findings.contains { $0.message.contains("keys/absent.json") })
    }

    @Test func `of another name leave the key that stood in their place`() throws {
        let good = try place.write("good.json", FCMAccountFile.text(project: "one"))
        let before = FCMKeys(try settings([("fcm_key", good)]))
        #expect(before.problems.isEmpty)
        let after = FCMKeys(try settings([("fcm_key", "/nonexistent.json")]), keeping: before)
        #expect(after.keys.count == 1 && after.keys[0]?.account.project == "one")
        #expect(after.problems.first?.message.hasSuffix("; the key read before is still used") == true)
        // Another app's key is no stand-in.
        let other = FCMKeys(
            try settings([("fcm_key", good), ("fcm_app1", "com.example.b"), ("fcm_key1", "/nonexistent.json")]),
            keeping: before)
        #expect(other.keys.count == 2 && other.keys[0] != nil && other.keys[1] == nil)
    }

    @Test func `are read with a byte order mark`() throws {
        let path = try place.write("bom.json", "\u{FEFF}" + FCMAccountFile.text(project: "one"))
        #expect(FCMKeys(try settings([("fcm_key", path)])).problems.isEmpty)
    }

    @Test(arguments: [
        ("apns_key", "\n", "it is empty; give the .p8 file"),
        ("apns_key", "MIGTAgEAMBMGByqGSM49", "no line begins with -----BEGIN; give the .p8 file"),
        ("apns_key", "-----BEGIN CERTIFICATE-----\nAAAA\n", "it is a CERTIFICATE; give the .p8 file"),
        ("vapid_key", "-----BEGIN PUBLIC KEY-----\nAAAA\n", "it is a PUBLIC KEY; make one with: openssl"),
        ("vapid_key", "-----BEGIN EC PRIVATE KEY-----\nAAAA\n", "it is cut or damaged; make one with: openssl"),
        ("apns_key", "\n{\"type\": \"service_account\"}", "it is JSON, as the keys of fcm_key"),
        // Phones have subscribed with this key: another in its place would lose them.
        ("vapid_key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n", "has a password, which nothing here can enter"),
    ])
    func `hold something else than a key, which is named`(setting: String, text: String, message: String) throws {
        let path = try place.write("key", text)
        let others = [
            ("apns_key_id", "ABC123DEFG"), ("apns_team_id", "DEF123GHIJ"), ("vapid_subject", "mailto:a@example.com"),
        ].filter { $0.0.hasPrefix(setting.prefix(4)) }
        let findings = SettingsInspection.inspect(try settings([(setting, path)] + others))
        #expect(findings.count == 1 && findings[0].setting == setting, "\(findings)")
        let said = findings.first?.message ?? ""
        #expect(said.contains(path) && said.contains(message.prefix { $0 != ";" }), "\(said)")
        #expect(said.contains(message.split(separator: "; ").last ?? ""), "\(said)")
    }

    @Test(arguments: [("apns_key", true), ("fcm_key", true), ("vapid_key", false), ("harmonyos_key", false)])
    func `are UTF-16, which is named`(setting: String, isLittle: Bool) throws {
        let text = "-----BEGIN PRIVATE KEY-----\n".utf16.flatMap { unit -> [UInt8] in
            let (low, high) = (UInt8(unit & 0xFF), UInt8(unit >> 8))
            return isLittle ? [low, high] : [high, low]
        }
        let path = "\(place.path)/wide"
        let file = try #require(fopen(path, "w"))
        let bytes: [UInt8] = (isLittle ? [0xFF, 0xFE] : [0xFE, 0xFF]) + text
        #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
        fclose(file)
        let findings = SettingsInspection.inspect(try settings([(setting, path)])).filter { $0.setting == setting }
        #expect(findings.map(\.message) == ["\(path) is UTF-16, as Windows writes it; save it as UTF-8"])
    }

    @Test func `of two keys that are swapped say whose key it is`() throws {
        let apple = try place.write("AuthKey_ABC123DEFG.p8", "-----BEGIN PRIVATE KEY-----\n")
        let google = SettingsInspection.inspect(try settings([("fcm_key", apple)]))
        #expect(google.contains { $0.setting == "fcm_key" && $0.message.contains("PEM, as the keys of apns_key") })
        let web = SettingsInspection.inspect(
            try settings([("vapid_key", apple), ("vapid_subject", "mailto:a@example.com")]))
        #expect(web.contains { $0.setting == "vapid_key" && $0.message.contains("set apns_key to that") })
    }

    @Test(arguments: [
        (#"{"project_info": {"project_id": "one"}, "client": []}"#, "google-services.json"),
        (#"{"type": "authorized_user", "client_id": "x"}"#, "the login of a person"),
        (#"{"type": "external_account", "audience": "x"}"#, "holds no key of its own"),
    ])
    func `are other files of Google's, which are named`(text: String, words: String) throws {
        let path = try place.write("google.json", text)
        let said = FCMKeys(try settings([("fcm_key", path)])).problems.map(\.message)
        #expect(said.count == 1 && said[0].contains(words) && said[0].contains("Generate new private key"), "\(said)")
    }

    @Test func `have a key whose line ends were escaped twice`() throws {
        // JSONWriter writes a line end as a number.
        let text = try FCMAccountFile.text(project: "one").replacing("\\u000a", with: "\\\\n")
        let path = try place.write("twice.json", text)
        let said = FCMKeys(try settings([("fcm_key", path)])).problems.map(\.message)
        #expect(said.count == 1 && said[0].contains("the characters \\n stand where its lines should end"), "\(said)")
    }

    @Test(arguments: ["", "\u{FEFF}"], ["\n", "\r\n", "\r", "", "\nmore\n"])
    func `begin with a mark or end a line in any way, and that is no part of a secret`(mark: String, end: String) throws
    {
        let line = "user:s3cretWord-0123456789"
        #expect(FileContent.firstLine(of: Array("\(mark)\(line)\(end)".utf8)) == Array(line.utf8))
        let secret = try place.write("secret", "\(mark)\(String(repeating: "s", count: 16))\(end)")
        let header = try place.write("header", "\(mark)Authorization: Bearer x\(end.prefix(1))")
        let problems = WebhookSetup.problems(
            try settings([
                ("webhook_url", "https://push.example.com/"), ("webhook_secret_file", secret),
                ("webhook_headers", "@\(header)"),
            ]))
        #expect(problems.isEmpty, "\(problems)")
        let users = try place.write("users", "\(mark)bob:pushwake:0123456789abcdef0123456789abcdef\n")
        let read = try HTTPSetup.users(try settings([("http_users", users)]))
        #expect(read.count == 1 && read.problems.isEmpty)
        #expect(read == HTTPUsers(Array("bob:pushwake:0123456789abcdef0123456789abcdef".utf8)))
    }

    @Test func `name the file of a field that cannot be sent`() throws {
        let header = try place.write("header", "X Y: z\n")
        let problems = WebhookSetup.problems(
            try settings([("webhook_url", "https://push.example.com/"), ("webhook_headers", "@\(header)")]))
        #expect(problems.map(\.setting) == ["webhook_headers"] && problems.first?.isOfFile == true)
    }

    @Test func `that everybody may read are named, and devices are not`() throws {
        func said(_ path: String) throws -> [String] {
            SettingsInspection.inspect(
                try settings([("flexiapi_key_file", path), ("engine_socket", "\(place.path)/s")]), depth: .surroundings
            ).filter { $0.setting == "flexiapi_key_file" }.map(\.message)
        }
        let path = try place.write("open", "key\n")
        chmod(path, 0o644)
        #expect(try said(path).contains { $0.contains("chmod o= \(path)") })
        #expect(try !said("/dev/null").contains { $0.contains("chmod") })
    }

    @Test func `of authorities leave those before, and the keys are read all the same`() throws {
        let good = try place.write("good.json", FCMAccountFile.text(project: "one"))
        let delivery = Delivery(
            settings: try settings([("fcm_key", good)]), loop: try Loop(), log: EngineLog(threshold: .error) { _, _ in }
        )
        #expect(delivery.open().isEmpty)
        let binding = Binding(provider: .fcm, app: "one", token: "t", dialect: .mpush)
        #expect(delivery.canPush(binding))
        delivery.take(try settings([("ca_file", "/nonexistent.pem")]))
        let problems = delivery.reload()
        #expect(
            problems == [
                "ca_file: cannot read /nonexistent.pem: No such file or directory; the certificates read before are still used"
            ])
        // The key that left the settings is gone.
        #expect(!delivery.canPush(binding))
    }

    @Test func `at a start without authorities no push is sent`() throws {
        let delivery = Delivery(
            settings: try settings([("ca_file", "/nonexistent.pem")]), loop: try Loop(),
            log: EngineLog(threshold: .error) { _, _ in })
        let problems = delivery.open()
        #expect(problems.count == 1 && problems[0].hasPrefix("ca_file: cannot read /nonexistent.pem: No such file"))
        #expect(problems[0].hasSuffix("no provider can be verified, so no push is sent"))
    }

    @Test func `of a newer release or another program are found before an engine opens them`() throws {
        let path = "\(place.path)/bindings.db"
        _ = try SQLiteStore(path: path)
        func finding() throws -> String? {
            SettingsInspection.inspect(
                try settings([("store_path", path), ("engine_path", "/bin/true"), ("engine_socket", "\(place.path)/s")]
                ),
                depth: .surroundings
            ).first { $0.setting == "store_path" }?.message
        }
        #expect(try finding() == nil)
        try overwrite(path, at: 60, with: [0, 0, 0, 99])
        #expect(try finding()?.contains("newer release") == true)
        try overwrite(path, at: 68, with: [1, 2, 3, 4])
        #expect(try finding()?.contains("another program") == true)
    }

    /// Puts bytes into the header of a database (sqlite.org/fileformat2.html, 1.3).
    private func overwrite(_ path: String, at offset: Int, with bytes: [UInt8]) throws {
        let file = open(path, O_WRONLY)
        try #require(file >= 0)
        defer { close(file) }
        #expect(pwrite(file, bytes, bytes.count, offset) == bytes.count)
    }
}

@Suite struct `Settings lines that are none` {
    @Test func `are not repeated beyond their first word`() throws {
        var settings = Settings()
        let problems = settings.read(file: "http_proxy user:s3cretWord@127.0.0.1:1\n")
        #expect(problems.count == 1 && problems[0].error.setting == "http_proxy")
        #expect(!problems[0].error.message.contains("s3cretWord"))
    }

    @Test func `name the setting that they begin with, however it is written`() throws {
        var settings = Settings()
        let problems = settings.read(file: "wake_timeout: 40\nWAKE_TIMEOUT = 40\n").map(\.error)
        #expect(problems.first == SettingError(setting: "wake_timeout", message: "write name = value"))
        #expect(problems.last?.message == "there is no such setting; did you mean wake_timeout?")
    }

    @Test func `of a key are told as one thing and not printed`() throws {
        var settings = Settings()
        let problems = settings.read(
            file: "-----BEGIN PRIVATE KEY-----\nMIIs3cretWord\nabc=\n-----END PRIVATE KEY-----\n")
        #expect(problems.count == 1 && problems[0].error.message.contains("this is a key"))
        #expect(!"\(problems)".contains("s3cretWord"))
    }

    @Test func `are listed up to a number that people read`() throws {
        var settings = Settings()
        let problems = settings.read(file: String(repeating: "x\n", count: 5000))
        #expect(problems.count == 21 && problems[20].error.message.contains("4980 more"))
    }

    @Test func `with a word that is long are not printed at all`() throws {
        var settings = Settings()
        let problems = settings.read(file: "MIGTAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBHkwdwIBAQQg\n")
        #expect(problems.count == 1 && !"\(problems)".contains("MIGTAgEAMBMG"))
    }
}

@Suite struct `A reload warns of new doubts` {
    @Test func `and says nothing of those that were there before`() throws {
        let place = try Place()
        let path = try place.write("w.conf", "")
        func read(_ text: String, before: Settings) throws -> SettingsReload.Outcome {
            _ = try place.write("w.conf", text)
            return SettingsReload(source: SettingsSource(path: path)).read(before)
        }
        let good = [("apns_key", "/AuthKey_ABC123DEFG.p8"), ("apns_team_id", "DEF123GHIJ")]
        let text = "apns_key = /AuthKey_ABC123DEFG.p8\napns_team_id = DEF123GHIJ\n"
        let outcome = try read(text + "apns_key_id = abc\n", before: try settings(good))
        #expect(outcome.settings != nil && !outcome.isBroken && outcome.notes.contains(.taken("apns_key_id")))
        let said = outcome.notes.compactMap { if case .doubt(let text) = $0 { text } else { nil } }
        #expect(said.contains { $0.contains("apns_key_id") && $0.contains("ten characters") }, "\(said)")
        let again = try read(
            text + "apns_key_id = abc\nwake_timeout = 9\n", before: try settings(good + [("apns_key_id", "abc")]))
        #expect(again.notes == [.taken("wake_timeout")])
    }

    @Test func `while a file that cannot be read is a problem`() throws {
        let place = try Place()
        let path = try place.write(
            "w.conf", "fastagi_listen = 127.0.0.1:4573\nfastagi_token_file = /nonexistent/token\n")
        let notes = SettingsReload(source: SettingsSource(path: path)).read(Settings()).notes
        #expect(notes.contains { $0.column == "problem" && $0.text.contains("/nonexistent/token") }, "\(notes)")
        #expect(!notes.contains { $0.column == "doubt" })
    }
}
