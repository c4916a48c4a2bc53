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
        try new.set(key, to: row.example)
        try #require(new.isChanged(key), "\(row.name) has its default as example")
        let change = SettingsChange(from: Settings(), to: new)
        #expect(change.taken.count + change.waiting.count == 1)
        #expect((change.settings.text(key) == new.text(key)) != row.takesRestart)
    }
}
