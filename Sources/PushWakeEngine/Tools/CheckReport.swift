// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

/// What `check` has to say of one file, and where in it each setting is.
struct CheckReport {
    private(set) var lines: [String] = []
    /// Files that a kamailio.cfg includes.
    private(set) var included: [(file: String, location: KamailioConfiguration.Location)] = []
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

    /// An engine of its own has settings of its own: what stands here for push services, nobody reads.
    private mutating func noteUnread(_ settings: Settings, _ configuration: KamailioConfiguration) {
        guard settings.text(.engineMode) == "external" else { return }
        let prefixes = Provider.allCases.map(\.row.prefix)
        let unread = configuration.parameters.filter { parameter in
            parameter.isOf("pushwake") && prefixes.contains { parameter.name.hasPrefix($0) }
        }
        guard let first = unread.first else { return }
        let names = Set(unread.map(\.name)).sorted().joined(separator: ", ")
        add(
            "\(first.location.file):\(first.location.line): warning: \(first.name): engine_mode is external, so that the engine reads its own settings file and nothing of \(names) here; move that there"
        )
    }

    /// Reads what a kamailio.cfg sets, and says what is wrong with the rest of it.
    mutating func read(kamailio text: String, file: String, defines: [String]) -> Settings {
        let configuration = KamailioConfiguration(
            text, file: file, defines: defines, environment: environmentVariable, read: { try? TextFile.read($0) })
        let (settings, mistakes) = configuration.settings
        for mistake in mistakes {
            let (place, error) = (mistake.location, mistake.error)
            add("\(place.file):\(place.line): error: \(error.setting): \(error.message)")
        }
        for parameter in configuration.parameters where parameter.isOf("pushwake") {
            if settings.text(named: parameter.name) != nil { note(parameter.name, parameter.location) }
        }
        included = configuration.included
        noteUnread(settings, configuration)
        for (name, isNeeded, location) in configuration.missing {
            if isNeeded {
                add(
                    "\(location.file):\(location.line): warning: include_file: cannot read \(name), and Kamailio does not start without it; write import_file if it may be missing"
                )
            } else if SettingsInspection.lack(of: settings) != nil {
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
