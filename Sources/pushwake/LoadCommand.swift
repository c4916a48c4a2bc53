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
    @Flag(name: .long, help: "Sends nothing: lets the pushes wait and go, and weighs the process.") var backlog = false
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
            Console.printError("\(error.setting): \(error.message)")
            throw ExitCode(2)
        }
        if backlog { return try weigh(settings) }
        var progress = TerminalProgress("pushes", of: count)
        let report: LoadReport
        do throws(EngineFailure) {
            let run = try LoadRun(
                settings: settings, provider: provider == "fcm" ? .fcm : .apns, count: count, concurrency: concurrency)
            // Without a terminal nothing is done that would be measured too.
            report = run.run(onProgress: progress.isShown ? { progress.show($0) } : nil)
        } catch {
            Console.printError(error.message)
            throw ExitCode(1)
        }
        progress.end()
        show(report)
        if report.accepted != report.count {
            Console.printError("not all pushes were accepted: \(report.firstReason)")
            throw ExitCode(1)
        }
    }

    private func weigh(_ settings: Settings) throws {
        var progress = TerminalProgress("pushes", of: count)
        let report: BacklogRun.Report?
        do throws(EngineFailure) {
            report = try BacklogRun(settings: settings, count: count).run { progress.show($0) }
        } catch {
            Console.printError(error.message)
            throw ExitCode(1)
        }
        progress.end()
        guard let report else {
            Console.printError("not all pushes waited for their deadline")
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
