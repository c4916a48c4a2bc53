// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `Releases of apps` {
    @Test(arguments: [
        ("Linphone/5.2.1 (Alice's phone) SDK/5.3", "Linphone/5.2.1"), ("MyApp/1.2", "MyApp/1.2"),
        ("PJSUA v2.13 Linux-6.1", "PJSUA v2.13"), ("baresip v3.1.0 (aarch64/linux)", "baresip v3.1.0"),
        ("", "other"), ("Alice's/5.1", "other"), ("Bobs 12", "other"), ("Bobs iPhone", "other"), ("/5", "other"),
        ("a/b/5", "other"), ("App/x", "other"), ("App/" + String(repeating: "1", count: 60), "other"),
        ("App/1\u{202E}", "other"),
    ])
    func `are the product and version of the User-Agent`(agent: String, version: String) {
        #expect(AppVersions.version(in: agent) == version)
    }

    @Test func `have their phones counted`() {
        var versions = AppVersions(seed: 1)
        versions.register("alice's token", agent: "App/1.0 (a)")
        versions.register("bob's token", agent: "App/1.0 (b)")
        versions.register("carol's token", agent: "App/2.0")
        for token in ["alice's token", "bob's token"] { versions.count(token, came: true) }
        versions.count("carol's token", came: false)
        versions.count("a token that nobody has registered", came: false)
        // The app was brought up to date.
        versions.register("alice's token", agent: "App/2.0")
        versions.count("alice's token", came: false)
        #expect(versions.counts.map(\.version) == ["other", "App/1.0", "App/2.0"])
        #expect(versions.counts.map(\.came) == [0, 2, 0])
        #expect(versions.counts.map(\.stayedAway) == [1, 0, 2])
    }

    @Test func `are not those of another phone in the same place`() {
        var versions = AppVersions(phones: 1, seed: 1)
        versions.register("one", agent: "App/1.0")
        for token in ["two", "three", "four"] { versions.count(token, came: true) }
        #expect(versions.counts.map(\.came) == [3, 0])
    }

    @Test func `are so many at most, whoever makes them up`() {
        var versions = AppVersions(phones: 16)
        for number in 0..<3000 { versions.register("token \(number)", agent: "App/\(number)") }
        #expect(versions.counts.count == AppVersions.most)
    }
}

@Suite struct `Refusals of push services` {
    @Test func `are counted by their first word`() {
        var refusals = RefusalCounts()
        for reason in ["BadDeviceToken", "PERMISSION_DENIED: the caller", "BadDeviceToken", "", "<html>"] {
            refusals.add(reason)
        }
        #expect(refusals.counts == ["BadDeviceToken": 2, "PERMISSION_DENIED": 1, "other": 2])
    }

    @Test func `have so many words at most`() {
        var refusals = RefusalCounts()
        for number in 0..<1000 { refusals.add("Reason\(number)") }
        #expect(refusals.counts.count == RefusalCounts.most + 1)
        #expect(refusals.counts["other"] == 1000 - RefusalCounts.most)
    }
}
