// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `Settings that change while the engine runs` {
    private func settings(_ values: [String: String]) throws -> Settings {
        var settings = Settings()
        for (name, value) in values { try settings.set(name, to: value) }
        return settings
    }

    @Test func `what can change does, and what takes a restart stays as it was`() throws {
        let old = try settings(["store_path": "/a", "wake_timeout": "30"])
        let new = try settings([
            "store_path": "/b", "wake_timeout": "20", "log_level": "debug", "fcm_key1": "/k", "fcm_app1": "a",
        ])
        let change = SettingsChange(from: old, to: new)
        #expect(change.waiting == ["store_path"])
        #expect(Set(change.taken) == ["wake_timeout", "log_level", "fcm_appN, fcm_keyN"])
        #expect(change.settings.text(.storePath) == "/a" && change.settings.integer(.wakeTimeout) == 20)
        #expect(change.settings.fcmAccounts.count == 1)
    }

    @Test func `nothing that is the same is named`() throws {
        let same = try settings(["apns_key": "/a", "fcm_key7": "/b"])
        #expect(SettingsChange(from: same, to: same).isEmpty)
    }

    @Test(arguments: SettingKey.allCases)
    func `every setting is either taken or named for a restart`(_ key: SettingKey) throws {
        let row = SettingsTable.description(of: key)
        var new = Settings()
        var values = [
            "17", "1", "0", "180", "2000", "https://push.example.com/x", "https://push.example.com", "127.0.0.1:1",
            "flexisip",
            "INVITE", "redis://valkey.example.com", "sip:192.0.2.1:5060",
        ]
        if case .choice(let choices) = row.kind { values = choices }
        for value in values where !new.isChanged(key) {
            try? new.set(key, to: value)
        }
        try #require(new.isChanged(key), "no other value for \(row.name)")
        let change = SettingsChange(from: Settings(), to: new)
        #expect(change.taken.count + change.waiting.count == 1)
        #expect((change.settings.text(key) == new.text(key)) != key.takesRestart)
    }
}
