// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Service-account files` {
    private func sources(_ values: [(String, String)], _ names: [String] = []) throws -> FCMKeySources {
        var settings = Settings()
        for (name, value) in values { try settings.set(name, to: value) }
        return FCMKeySources(settings, names: names)
    }

    @Test func `are the default, the numbered ones and those beside it`() throws {
        let sources = try sources(
            [
                ("fcm_key", "/etc/pw/main.json"), ("fcm_app", "com.example.main"), ("fcm_app1", "com.example.one"),
                ("fcm_key1", "/etc/pw/one.json"), ("fcm_app2", "com.example.two"),
            ],
            [
                "fcmkey.com.example.three.json", "fcmkey.com.example.two.json", "fcmkey.json", "main.json",
                "fcmkey..json",
            ])
        #expect(sources.problems.isEmpty)
        #expect(
            sources.all == [
                FCMKeySource(
                    setting: "fcm_key", path: "/etc/pw/main.json", apps: ["com.example.main"], isDefault: true),
                FCMKeySource(setting: "fcm_key1", path: "/etc/pw/one.json", apps: ["com.example.one"]),
                FCMKeySource(
                    setting: "fcm_key2", path: "/etc/pw/fcmkey.com.example.two.json", apps: ["com.example.two"]),
                FCMKeySource(
                    setting: "fcm_key_dir", path: "/etc/pw/fcmkey.com.example.three.json", apps: ["com.example.three"]),
            ])
    }

    @Test func `are found in a directory alone`() throws {
        let names = ["fcmkey.json", "fcmkey.com.example.one.json"]
        let found = try sources([("fcm_key_dir", "/keys")], names)
        #expect(found.all.map(\.path) == ["/keys/fcmkey.json", "/keys/fcmkey.com.example.one.json"])
        #expect(found.all.map(\.isDefault) == [true, false])
        let named = try sources([("fcm_key_dir", "/keys"), ("fcm_app", "com.example.one")], [names[1]])
        #expect(named.all.count == 1)
        #expect(named.all.first?.isDefault == true)
    }

    @Test func `serve several apps with one file, but no app with two`() throws {
        let found = try sources([
            ("fcm_app1", "a"), ("fcm_key1", "/k/x"), ("fcm_app2", "b"), ("fcm_key2", "/k/x"), ("fcm_app3", "a"),
            ("fcm_key3", "/k/y"),
        ])
        #expect(found.all.map(\.apps) == [["a", "b"], []])
        #expect(found.problems.map(\.setting) == ["fcm_key3"])
    }

    @Test func `are asked for by name where they are missing`() throws {
        let found = try sources([("fcm_app7", "com.example.seven")])
        #expect(found.all.isEmpty)
        #expect(found.problems.first?.setting == "fcm_key7")
        #expect(found.problems.first?.message.contains("com.example.seven") == true)
    }

    @Test func `need no app where there is only one`() throws {
        #expect(try sources([("fcm_key1", "/k/x")]).all.map(\.isDefault) == [true])
        #expect(try sources([("fcm_key1", "/k/x"), ("fcm_key2", "/k/y")]).all.map(\.isDefault) == [false, false])
    }

    @Test func `lie beside fcm_key unless a directory is named`() throws {
        for (file, directory) in [("/a/b/k.json", "/a/b"), ("/k.json", "/"), ("k.json", "."), ("", "")] {
            var settings = Settings()
            try settings.set(.fcmKey, to: file)
            #expect(FCMKeySources.directory(settings) == directory)
        }
    }
}

@Suite struct `The account for an app` {
    private let directory = FCMDirectory([
        .init(apps: ["com.example.main"], project: "main", isDefault: true),
        .init(apps: ["com.example.one", "123456789"], project: "one", isDefault: false),
        .init(apps: ["com.example.broken"], project: nil, isDefault: false),
    ])

    @Test(arguments: [
        ("com.example.one", FCMDirectory.Choice.account(1)), ("one", .account(1)), ("123456789", .account(1)),
        ("com.example.main", .account(0)), ("main", .account(0)), ("com.example.other", .account(0)), ("", .account(0)),
        ("com.example.broken", .broken(2)),
    ])
    func `is named for it, or of its project, or the default`(app: String, choice: FCMDirectory.Choice) {
        #expect(directory.choice(for: app) == choice)
    }

    @Test func `is a guess where several were set and none was named`() {
        #expect(["com.example.other", ""].allSatisfy { directory.isGuess(for: $0) })
        #expect(!directory.isGuess(for: "one") && !directory.isGuess(for: "com.example.broken"))
        let alone = FCMDirectory([.init(apps: [], project: "p", isDefault: true)])
        #expect(!alone.isGuess(for: "com.example.other"))
    }

    @Test func `is nobody where there is no default`() {
        let directory = FCMDirectory([.init(apps: ["a"], project: "p", isDefault: false)])
        #expect(directory.choice(for: "b") == .none)
        #expect(FCMDirectory([]).choice(for: "a") == .none)
    }

    @Test func `named for an app comes before a project of that name`() {
        let directory = FCMDirectory([
            .init(apps: [], project: "x", isDefault: true), .init(apps: ["x"], project: "y", isDefault: false),
        ])
        #expect(directory.choice(for: "x") == .account(1))
    }
}
