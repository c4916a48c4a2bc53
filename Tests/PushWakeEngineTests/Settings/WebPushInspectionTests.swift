// SPDX-License-Identifier: MIT

import PushWakeClient
import PushWakeCore
import PushWakeEngine
import Testing

@Suite struct `Inspection of the settings for Web Push` {
    @Test(arguments: [
        ([("vapid_subject", "mailto:a@b.example")], "vapid_key", LogLevel.error),
        ([("vapid_key", "/nonexistent"), ("vapid_subject", "mailto:a@b.example")], "vapid_key", .warning),
        ([("vapid_key", "/nonexistent")], "vapid_subject", .error),
        ([("vapid_key", "/nonexistent"), ("vapid_subject", "mailto:")], "vapid_subject", .error),
        ([("vapid_key", "/nonexistent"), ("vapid_subject", "ops@example.com")], "vapid_subject", .error),
        ([("vapid_key", "/nonexistent"), ("webpush_hosts", "https://push.example.com")], "webpush_hosts", .error),
        ([("vapid_key", "/nonexistent"), ("webpush_hosts", "push.example.com:8443")], "webpush_hosts", .error),
        ([("vapid_key", "/nonexistent"), ("webpush_hosts", "a.example.com,,*")], "webpush_hosts", .error),
    ])
    func `names what is wrong`(values: [(String, String)], setting: String, level: LogLevel) throws {
        var settings = Settings()
        for (name, value) in values { try settings.set(name, to: value) }
        #expect(SettingsInspection.inspect(settings).contains { $0.setting == setting && $0.level == level })
    }

    @Test(arguments: ["*", "push.example.com, *.example.org", "10.0.0.1"])
    func `takes lists of hosts`(hosts: String) throws {
        var settings = Settings()
        try settings.set("vapid_key", to: "/nonexistent")
        try settings.set("webpush_hosts", to: hosts)
        #expect(!SettingsInspection.inspect(settings).contains { $0.setting == "webpush_hosts" })
    }

    @Test(arguments: ["http://pnm.example.com/send", "pnm.example.com", "https://"])
    func `is not reached by a mediator without https`(url: String) {
        var settings = Settings()
        #expect(throws: SettingError.self) { try settings.set("acrobits_url", to: url) }
    }
}
