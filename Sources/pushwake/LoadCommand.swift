// SPDX-License-Identifier: MIT

import ArgumentParser
import Glibc
import PushWakeCore
import PushWakeEngine

struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load", abstract: "Measures the delivery path against a simulator.",
        discussion:
            "Sends pushes to as many different tokens; exit code 0 when all were accepted. Only loopback addresses are taken."
    )

    @Option(name: .long, help: "apns or fcm.") var provider = "apns"
    @Option(name: .long, help: "Where the simulator listens.") var url = "https://127.0.0.1:8443"
    @Option(name: .long, help: "Directory with the files that the simulator made.") var dir: String
    @Option(name: .long, help: "Pushes to send.") var count = 10_000
    @Option(name: .long, help: "Pushes under way at once.") var concurrency = 100
    @Option(name: .long, help: "Connections at most.") var connections = 1
    @Flag(name: .long, help: "Sends nothing: lets the pushes wait and go, and weighs the process.") var jam = false
    @Flag(name: .long, help: "One JSON object instead of lines.") var json = false

    func validate() throws {
        if count < 1 || count > 100_000_000 { throw ValidationError("--count takes 1 to 100000000") }
        if concurrency < 1 || concurrency > 1_000_000 { throw ValidationError("--concurrency takes 1 to 1000000") }
        if connections < 1 || connections > 64 { throw ValidationError("--connections takes 1 to 64") }
        if provider != "apns" && provider != "fcm" { throw ValidationError("--provider takes apns or fcm") }
        guard let origin = HTTPOrigin(url) else { throw ValidationError("--url takes https://host:port") }
        if !["127.0.0.1", "::1", "localhost"].contains(origin.host) && !origin.host.hasPrefix("127.") {
            throw ValidationError("load only runs against loopback addresses: nobody else asked for it")
        }
    }

    func run() throws {
        var settings = Settings()
        do throws(SettingError) {
            try SimulatorDirectory(dir).apply(to: &settings, provider: provider, url: url)
            try settings.set(.apnsConnections, to: String(connections))
            try settings.set(.fcmConnections, to: String(connections))
            try settings.set(.queueSize, to: String(max(concurrency, 100_000)))
        } catch {
            Console.complain("\(error.setting): \(error.message)")
            throw ExitCode(2)
        }
        if jam { return try weigh(settings) }
        let report: LoadReport
        do throws(EngineFailure) {
            report = try LoadRun(
                settings: settings, provider: provider == "fcm" ? .fcm : .apns, count: count, concurrency: concurrency
            ).run()
        } catch {
            Console.complain(error.message)
            throw ExitCode(1)
        }
        show(report)
        if report.accepted != report.count {
            Console.complain("not all pushes were accepted: \(report.firstReason)")
            throw ExitCode(1)
        }
    }

    private func weigh(_ settings: Settings) throws {
        let report: JamRun.Report?
        do throws(EngineFailure) {
            report = try JamRun(settings: settings, count: count).run()
        } catch {
            Console.complain(error.message)
            throw ExitCode(1)
        }
        guard let report else {
            Console.complain("not all pushes waited for their deadline")
            throw ExitCode(1)
        }
        show([
            ("count", "\(report.count)"), ("bytes_per_push", "\(report.perPush)"),
            ("before_bytes", "\(report.before)"), ("during_bytes", "\(report.during)"),
            ("after_bytes", "\(report.after)"),
        ])
    }

    private func show(_ report: LoadReport) {
        let values: [(String, String)] = [
            ("count", "\(report.count)"), ("accepted", "\(report.accepted)"), ("rejected", "\(report.rejected)"),
            ("failed", "\(report.failed)"), ("seconds", rounded(report.seconds)),
            ("cpu_us_per_push", rounded(report.microsecondsPerPush)), ("p50_ms", rounded(report.medianMilliseconds)),
            ("p99_ms", rounded(report.p99Milliseconds)),
        ]
        show(values)
    }

    private func show(_ values: [(String, String)]) {
        if json {
            Console.say("{" + values.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}")
        } else {
            for (name, value) in values { Console.say("\(name) \(value)") }
        }
    }

    private func rounded(_ value: Double) -> String {
        let thousandths = Int((value * 1000).rounded())
        let rest = String(thousandths % 1000)
        return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
    }
}

/// The files that `pushwake simulate` makes.
struct SimulatorDirectory {
    let path: String

    init(_ path: String) { self.path = path }

    /// Settings that push to the simulator.
    func apply(to settings: inout Settings, provider: String, url: String) throws(SettingError) {
        try settings.set(.caFile, to: "\(path)/ca.pem")
        if provider == "fcm" {
            try settings.set(.fcmKey, to: "\(path)/fcmkey.json")
            try settings.set(.fcmURL, to: url)
            return
        }
        guard let key = keyFile() else {
            throw SettingError(
                setting: "--dir",
                message: "\(path) holds no AuthKey_XXXXXXXXXX.p8; start pushwake simulate --dir \(path) first")
        }
        try settings.set(.apnsKey, to: "\(path)/\(key)")
        try settings.set(.apnsKeyID, to: String(key.dropFirst("AuthKey_".count).dropLast(".p8".count)))
        try settings.set(.apnsTeamID, to: value("apns_team_id") ?? value("team_id") ?? "")
        try settings.set(.apnsURL, to: url)
        try settings.set(.apnsSandboxURL, to: url)
    }

    private func keyFile() -> String? {
        guard let directory = opendir(path) else { return nil }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasPrefix("AuthKey_") && name.hasSuffix(".p8") { return name }
        }
        return nil
    }

    /// A string member of simulator.json, wherever it stands.
    private func value(_ name: String) -> String? {
        guard let text = TextFile.read("\(path)/simulator.json"), let found = text.firstRange(of: "\"\(name)\"") else {
            return nil
        }
        let rest = text[found.upperBound...].drop { $0 == " " || $0 == ":" || $0 == "\n" }
        guard rest.first == "\"" else { return nil }
        return String(rest.dropFirst().prefix { $0 != "\"" })
    }
}
