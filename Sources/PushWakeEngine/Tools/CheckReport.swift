// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

/// What `check` has to say of one file, and where in it each setting is.
struct CheckReport {
    private(set) var lines: [String] = []
    private var locations: [String: KamailioConfiguration.Location] = [:]

    mutating func add(_ line: String) { lines.append(line) }

    /// Where a setting has its value from; nil for a default.
    func location(of setting: String) -> KamailioConfiguration.Location? { locations[setting] }

    private mutating func note(_ setting: String, _ location: KamailioConfiguration.Location) {
        if let first = locations[setting] {
            let before = first.file == location.file ? "line \(first.line)" : "\(first.file):\(first.line)"
            add(
                "\(location.file):\(location.line): warning: \(setting): is set in \(before) already; only this one counts"
            )
        }
        locations[setting] = location
    }

    /// Reads `name = value` lines.
    mutating func read(_ text: String, _ file: String) -> Settings {
        var settings = Settings()
        for problem in settings.read(file: text) {
            add("\(file):\(problem.line): error: \(problem.error.setting): \(problem.error.message)")
        }
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let name = line.drop { $0 == " " || $0 == "\t" }.prefix { $0 != "=" && $0 != " " && $0 != "\t" }
            guard settings.text(named: String(name)) != nil else { continue }
            note(String(name), KamailioConfiguration.Location(file: file, line: index + 1))
        }
        return settings
    }

    /// Reads what a kamailio.cfg sets, and says what is wrong with the rest of it.
    mutating func read(kamailio text: String, file: String, defines: [String]) -> Settings {
        let configuration = KamailioConfiguration(
            text, file: file, defines: defines, environment: environmentVariable, read: { try? TextFile.read($0) })
        var settings = Settings()
        for parameter in configuration.parameters where parameter.isOf("pushwake") {
            if ["event_callback", "failure_callback", "lookup_goes_on", "upstream_table"].contains(parameter.name) {
                continue
            }
            do throws(SettingError) {
                try settings.set(parameter.name, to: parameter.value)
            } catch {
                add("\(parameter.location.file):\(parameter.location.line): error: \(error.setting): \(error.message)")
            }
            if settings.text(named: parameter.name) != nil { note(parameter.name, parameter.location) }
        }
        if SettingsInspection.lack(of: settings) != nil {
            for (name, location) in configuration.missing {
                add("\(location.file):\(location.line): warning: import_file: \(name) is not there")
            }
        }
        let findings = KamailioInspection.inspect(configuration, file: file)
            .sorted { ($0.location.file, $0.location.line) < ($1.location.file, $1.location.line) }
        for finding in findings {
            let level = finding.isError ? "error" : "warning"
            add("\(finding.location.file):\(finding.location.line): \(level): \(finding.message)")
        }
        return settings
    }
}
