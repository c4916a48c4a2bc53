// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// `pushwake load`: measures the delivery path against a simulator on this machine.
struct LoadTool {
    private let provider: String
    private let url: String
    private let directory: String
    private let count: Int
    private let concurrency: Int
    private let connections: Int
    /// Sends nothing: lets the pushes wait and go, and weighs the process.
    private let isBacklog: Bool
    private let isJSON: Bool
    private let output: ToolOutput

    /// Nil when something is missing, or the URL leads elsewhere than to this machine: nobody else asked for it.
    init?(_ options: ToolOptions, _ output: ToolOutput) {
        guard let provider = options["provider"], ["apns", "fcm"].contains(provider),
            let url = options["url"], HTTPOrigin(url)?.isLoopback == true, let directory = options["dir"],
            let count = options.number("count"), let concurrency = options.number("concurrency"),
            let connections = options.number("connections"), min(count, concurrency, connections) > 0
        else { return nil }
        (self.provider, self.url, self.directory) = (provider, url, directory)
        (self.count, self.concurrency, self.connections) = (count, concurrency, connections)
        (isBacklog, isJSON) = (options["backlog"] == "1", options["json"] == "1")
        self.output = output
    }

    func run() throws(ToolFailure) -> Int32 {
        var settings = Settings()
        do throws(SettingError) {
            try SimulatorDirectory(directory).apply(to: &settings, provider: provider, url: url)
            try settings.set(.queueSize, to: String(max(concurrency, 100_000)))
        } catch {
            throw ToolFailure("\(error.setting): \(error.message)", code: 2)
        }
        if isBacklog { try weigh(settings) } else { try measure(settings) }
        return 0
    }

    private func measure(_ settings: Settings) throws(ToolFailure) {
        var progress = TerminalProgress("pushes", of: count)
        let run = try begun { () throws(EngineFailure) in
            try LoadRun(
                settings: settings, provider: provider == "fcm" ? .fcm : .apns, count: count, concurrency: concurrency,
                connections: connections)
        }
        // Without a terminal nothing is done that would be measured too.
        let report = run.run(onProgress: progress.isShown ? { progress.show($0) } : nil)
        progress.end()
        show([
            ("count", "\(report.count)"), ("accepted", "\(report.accepted)"), ("rejected", "\(report.rejected)"),
            ("failed", "\(report.failed)"), ("seconds", rounded(report.seconds)),
            ("cpu_us_per_push", rounded(report.microsecondsPerPush)), ("p50_ms", rounded(report.medianMilliseconds)),
            ("p99_ms", rounded(report.p99Milliseconds)),
        ])
        guard report.accepted == report.count else {
            throw ToolFailure("not all pushes were accepted: \(report.firstReason)", code: 1)
        }
    }

    private func weigh(_ settings: Settings) throws(ToolFailure) {
        var progress = TerminalProgress("pushes", of: count)
        let run = try begun { () throws(EngineFailure) in try BacklogRun(settings: settings, count: count) }
        let report = run.run { progress.show($0) }
        progress.end()
        guard let report else { throw ToolFailure("not all pushes waited for their deadline", code: 1) }
        show([
            ("count", "\(report.count)"), ("bytes_per_push", "\(report.perPush)"),
            ("before_bytes", "\(report.before)"), ("during_bytes", "\(report.during)"),
            ("after_bytes", "\(report.after)"),
        ])
    }

    private func begun<Run>(_ make: () throws(EngineFailure) -> Run) throws(ToolFailure) -> Run {
        do throws(EngineFailure) {
            return try make()
        } catch {
            throw ToolFailure(error.message, code: 1)
        }
    }

    private func show(_ values: [(name: String, text: String)]) {
        if isJSON {
            output.say("{" + values.map { "\"\($0.name)\":\($0.text)" }.joined(separator: ",") + "}")
        } else {
            for value in values { output.say("\(value.name) \(value.text)") }
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
        try settings.set(.apnsTeamID, to: team())
        try settings.set(.apnsURL, to: url)
        try settings.set(.apnsSandboxURL, to: url)
    }

    private func keyFile() -> String? {
        (try? FileContent.names(in: path, ending: ".p8"))?.first { $0.hasPrefix("AuthKey_") }
    }

    /// The team that the simulator takes tokens of; empty when `simulator.json` does not say.
    private func team() -> String {
        guard let file = try? FileContent.read("\(path)/simulator.json") else { return "" }
        return (try? JSONParser.parse(file))?["apns_team_id"]?.string ?? ""
    }
}
