// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `A setting that no longer exists` {
    /// What was written once, and what the remedy has to name.
    private static let remedies: [String: String] = [
        "core_dumps": "LimitCORE=0", "store_user": "redis://USER@host", "store_timeout": "80 % of engine_timeout",
        "store_backlog": "10,000 REGISTERs", "node": "set node_uri", "refresh_all": "refresh_before",
        "purr_rotate": "each day", "purr_keep": "for 7 days", "no_answer_waits": "set decline_waits",
        "cancel_push": "cancel_when = never", "wakes_kept": "100,000 requests", "load_missed": "set load_chat",
        "load_refresh": "set load_chat", "apns_mutable_content": "template_dir", "fcm_android_v2": "template_dir",
        "fcm_bandwidth_constrained": "template_dir", "apns_connections": "one connection", "fcm_connections": "up to 4",
        "webhook_connections": "up to 4", "webpush_allow_local": "webpush_hosts",
        "webhook_header_file": "webhook_headers, as @/path", "webhook_body_file": "webhook_body, as @/path",
        "webhook_allow_local": "leave it out", "connect_timeout": "half of request_timeout",
        "upper_path": "move the file to the directory of store_path, where it is called upstream.db",
        "http_connections": "200",
    ]

    @Test func `is one of twenty-six beside a hundred and twenty`() {
        #expect(Set(RemovedSetting.all.map(\.name.description)) == Set(Self.remedies.keys))
        #expect(RemovedSetting.all.count == 26 && SettingKey.allCases.count == 120)
    }

    @Test(arguments: RemovedSetting.all.map(\.name.description))
    func `is refused with what to write instead`(name: String) throws {
        let remedy = try #require(Self.remedies[name])
        var settings = Settings()
        let error = #expect(throws: SettingError.self) { try settings.set(name, to: "1") }
        #expect(error?.setting == name)
        #expect(error?.message.hasPrefix("no longer exists; ") == true)
        #expect(error?.message.contains(remedy) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("\n") == false)
        #expect(settings.text(named: name) == nil && SettingsTable.key(named: name) == nil)
    }

    @Test(arguments: RemovedSetting.all.map(\.name.description))
    func `is named with its line in a file, and the rest is read`(name: String) {
        var settings = Settings()
        let problems = settings.read(file: "wake_timeout = 20\n\(name) = 1\npersist = 7\n")
        #expect(problems.map(\.line) == [2] && problems.map(\.error.setting) == [name])
        #expect(settings.integer(.wakeTimeout) == 20 && settings.integer(.persist) == 7)
    }

    /// A remedy that names a setting must name one that there is.
    @Test(arguments: RemovedSetting.all.map(\.remedy.description))
    func `names only settings that exist`(remedy: String) {
        let words = remedy.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") }.filter { $0.contains("_") }
        let texts: Set<Substring> = ["android_v2", "bandwidth_constrained_ok"]
        for word in words where !texts.contains(word) {
            #expect(SettingsTable.key(named: String(word)) != nil, "\(word)")
        }
    }
}
