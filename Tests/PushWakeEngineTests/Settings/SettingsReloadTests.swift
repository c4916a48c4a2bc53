// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

/// A settings file of the test's own.
private final class SettingsFile {
    let path = "/tmp/pushwake-settings-\(SystemClock.processID())-\(UInt64.random(in: 0...UInt64.max))"

    deinit { unlink(path) }

    func write(_ text: String) throws {
        let file = try #require(fopen(path, "w"))
        defer { fclose(file) }
        #expect(fputs(text, file) >= 0)
    }
}

@Suite struct `Settings read again` {
    private let file = SettingsFile()

    private func read(_ text: String, current: String = "", others: [(String, String)] = []) throws
        -> SettingsReload.Outcome
    {
        var source = SettingsSource(path: file.path)
        for (name, value) in others { source.set(name, to: value) }
        try file.write(current)
        let settings = try source.read()
        try file.write(text)
        return SettingsReload(source: source).read(settings)
    }

    @Test func `a value that is new is taken, and one that takes a restart is named with its remedy`() throws {
        let outcome = try read("wake_timeout = 20\nstore_path = /b\n", current: "wake_timeout = 30\nstore_path = /a\n")
        #expect(outcome.settings?.integer(.wakeTimeout) == 20 && outcome.settings?.text(.storePath) == "/a")
        #expect(outcome.notes == [.restart("store_path"), .taken("wake_timeout")].reversed())
        #expect(outcome.notes.contains { $0.text.contains("store_path") && $0.text.contains("restart it") })
    }

    @Test func `a file with a mistake changes nothing and is named with its lines`() throws {
        let outcome = try read(
            "wake_timeout = 20\nwake_timeout = soon\n\nno_such = 1\n", current: "wake_timeout = 30\n")
        #expect(outcome.settings == nil && outcome.isBroken && outcome.notes.count == 2)
        #expect(outcome.notes[0].text.hasPrefix("\(file.path):2: wake_timeout: "))
        #expect(outcome.notes[1].text.hasPrefix("\(file.path):4: no_such: "))
        #expect(
            outcome.notes.allSatisfy { $0.level == .warning && $0.text.hasSuffix("all settings stay as they were") })
    }

    @Test func `values that cannot be meant together change nothing, unless they were there before`() throws {
        let broken = try read("apns_key_id = ABC123DEFG\n")
        #expect(broken.settings == nil && broken.isBroken && "\(broken.notes)".contains("set apns_key to"))
        let known = try read("apns_key_id = ABC123DEFG\nwake_timeout = 9\n", current: "apns_key_id = ABC123DEFG\n")
        #expect(known.settings?.integer(.wakeTimeout) == 9)
    }

    @Test func `a value that the next start would refuse changes nothing`() throws {
        let outcome = try read(
            "wake_timeout = 20\nfastagi_listen = zzz\n", current: "wake_timeout = 30\n")
        #expect(outcome.settings == nil && outcome.isBroken && "\(outcome.notes)".contains("fastagi_listen"))
    }

    @Test func `what was said beside the file stands above it`() throws {
        let outcome = try read("wake_timeout = 20\nlog_level = debug\n", others: [("wake_timeout", "25")])
        #expect(outcome.settings?.integer(.wakeTimeout) == 25 && outcome.notes == [.taken("log_level")])
    }

    @Test func `a setting that left the file has its default again`() throws {
        #expect(try read("", current: "wake_timeout = 20\n").settings?.integer(.wakeTimeout) == 40)
    }

    @Test func `a file that is gone changes nothing`() throws {
        let outcome = SettingsReload(source: SettingsSource(path: "/nonexistent/pushwake.conf")).read(Settings())
        #expect(
            outcome.settings == nil && outcome.isBroken && outcome.notes[0].text.contains("/nonexistent/pushwake.conf"))
    }

    @Test func `without a file there is nothing to say`() {
        let outcome = SettingsReload(source: nil).read(Settings())
        #expect(outcome.settings == nil && !outcome.isBroken && outcome.notes.isEmpty)
    }

    @Test func `an engine goes on with what it has taken`() throws {
        let bench = try CoreBench(["load_call": "never", "persist": "1"])
        #expect(bench.core.context.refusal(of: .call) != nil)
        bench.core.take(Settings())
        #expect(bench.core.context.refusal(of: .call) == nil && bench.core.context.settings.integer(.persist) == 30)
    }

    @Test func `all copies of a log have one level`() {
        final class Lines { var all: [String] = [] }
        let lines = Lines()
        let log = EngineLog(threshold: .error) { lines.all.append($1) }
        let copy = log
        log(.info, "before")
        copy.threshold = .info
        log(.info, "after")
        #expect(lines.all == ["after"])
    }
}
