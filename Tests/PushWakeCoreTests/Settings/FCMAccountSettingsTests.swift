// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Numbered settings of FCM` {
    @Test func `are pairs by number, and survive the way to the engine`() throws {
        var settings = Settings()
        try settings.set("fcm_key1000", to: "/etc/z.json")
        try settings.set("fcm_app2", to: "com.example.two")
        try settings.set("fcm_key2", to: "/etc/two.json")
        #expect(settings.fcmAccounts.map(\.number) == [2, 1000])
        #expect(settings.fcmAccounts.first?.app == "com.example.two")
        #expect(settings.text(named: "fcm_key2") == "/etc/two.json")
        #expect(settings.text(named: "fcm_key3") == "")
        #expect(settings.text(named: "fcm_keys") == nil)
        var copy = Settings()
        #expect(copy.take(lines: settings.lines()).isEmpty)
        #expect(copy == settings)
        try settings.set("fcm_key1000", to: "")
        #expect(settings.fcmAccounts.map(\.number) == [2])
    }

    @Test(arguments: ["fcm_app0", "fcm_key1001", "fcm_key01", "fcm_key1x", "fcm_key-1", "fcm_app99999999999999999999"])
    func `have numbers from 1 to 1000`(name: String) {
        var settings = Settings()
        #expect(throws: SettingError.self) { try settings.set(name, to: "x") }
        #expect(settings == Settings())
    }
}
