// SPDX-License-Identifier: MIT

import ArgumentParser
internal import PushWakeClient
import PushWakeCore
import PushWakeEngine
import PushWakeSystem

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Checks a settings file or a kamailio.cfg, and the keys that it names.",
        discussion: "Exit code 0 when nothing is wrong, 1 when something is, 2 when the file cannot be read.")

    @Argument(help: "Settings file, one name = value a line; or a whole kamailio.cfg.") var file: String

    @Option(
        name: .long,
        help:
            "User that the engine runs as: root looks at the keys as this user does. Otherwise the owner of the store."
    )
    var user: String?

    @Option(
        name: [.customShort("A"), .long],
        help: ArgumentHelp("What kamailio.cfg is started with; may be repeated.", valueName: "name[=value]"))
    var define: [String] = []

    func run() throws {
        guard let text = TextFile.read(file) else {
            Console.printError("cannot read \(file); give a readable file")
            throw ExitCode(2)
        }
        var report = CheckReport()
        let isKamailio = KamailioConfiguration.isOne(text)
        let settings = isKamailio ? report.read(kamailio: text, file: file, defines: define) : report.read(text, file)
        if let problem = SettingsInspection.opennessProblem(of: file, settings) {
            report.add("\(file): warning: \(problem)")
        }
        let reader = try becomeReader(settings, isKamailio: isKamailio)
        for finding in SettingsInspection.inspect(settings, depth: .surroundings) {
            let location = report.location(of: finding.setting).map { "\($0.file):\($0.line)" } ?? file
            report.add("\(location): \(finding.level.name): \(finding.setting): \(finding.message)")
        }
        for line in report.lines { Console.say(line) }
        guard report.lines.isEmpty else {
            if let reader { Console.say("\(file): looked at as user \(reader)") }
            throw ExitCode(1)
        }
        Console.say("\(file): all is well\(reader.map { " for user \($0)" } ?? "")")
    }

    /// Root may read everything, the PBX may not: goes on as the user of the engine, and gives the name.
    private func becomeReader(_ settings: Settings, isKamailio: Bool) throws -> String? {
        let reader: ProcessUser
        if let user {
            guard let named = ProcessUser(named: user) else {
                Console.printError("there is no user \(user); name the one that the PBX runs as with --user")
                throw ExitCode(2)
            }
            reader = named
        } else {
            guard ProcessUser.current?.isRoot == true else { return nil }
            guard let owner = Self.owner(of: settings.text(.storePath), isKamailio: isKamailio), !owner.isRoot else {
                Console.say("\(file): looked at as root, who may read everything; --user NAME looks as the PBX does")
                return nil
            }
            reader = owner
        }
        guard !reader.isCurrent else { return reader.name }
        do throws(SystemError) {
            try reader.become()
        } catch {
            Console.printError("cannot \(error); run it as root or as that user")
            throw ExitCode(2)
        }
        return reader.name
    }
}

extension CheckCommand {
    /// Who runs the engine of this store: the owner of its directory. Packages give that to the group of all who may run
    /// one; Kamailio's engine is then its own, and owns the file.
    private static func owner(of store: String, isKamailio: Bool) -> ProcessUser? {
        let owner = ProcessUser(owning: Directory.parent(of: store))
        guard isKamailio, owner?.name == "pushwake" else { return owner }
        if let writer = ProcessUser(owning: store), !writer.isRoot { return writer }
        return ProcessUser(named: "kamailio") ?? owner
    }
}

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
        let configuration = KamailioConfiguration(text, file: file, defines: defines) { TextFile.read($0) }
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
        let findings = KamailioInspection.inspect(configuration, file: file)
            .sorted { ($0.location.file, $0.location.line) < ($1.location.file, $1.location.line) }
        for finding in findings {
            let level = finding.isError ? "error" : "warning"
            add("\(finding.location.file):\(finding.location.line): \(level): \(finding.message)")
        }
        return settings
    }
}
