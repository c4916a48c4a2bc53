// SPDX-License-Identifier: MIT

import ArgumentParser
import Glibc
import PushWakeCore
import PushWakeSystem

struct SettingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings", abstract: "Prints every setting in Markdown, by theme (docs/settings.md).")

    func run() throws {
        Console.say("# Settings\n")
        Console.say(
            """
            Made by `pushwake settings` from the one table that Kamailio modparams, pushwake.conf and `pushwake check` share.
            A setting has the same name in all three. It counts *at once* when it is read again (`pushwake reload`,
            [running.md](running.md)), or only after a *restart* of the engine.

            """)
        for heading in SettingHeading.allCases {
            Console.say("* [\(heading.rawValue)](#\(Self.anchor(heading.rawValue))): \(heading.about)")
        }
        for heading in SettingHeading.allCases { say(heading) }
        sayRemoved()
        for vendor in ForeignSetting.Vendor.allCases { say(vendor) }
    }

    private func say(_ heading: SettingHeading) {
        Console.say("\n## \(heading.rawValue)\n\n\(heading.about)\n")
        Console.say(
            "| name | values | default | example | counts | meaning | elsewhere |\n|---|---|---|---|---|---|---|")
        for key in SettingKey.allCases where SettingsTable.description(of: key).heading == heading {
            let row = SettingsTable.description(of: key)
            let cells = [
                "<a id=\"\(row.name)\"></a>`\(row.name)`", values(row), Self.code(row.defaultValue.description),
                Self.code(row.example), row.takesRestart ? "restart" : "at once", Self.escaped(row.help.description),
                others(key),
            ]
            Console.say("| \(cells.joined(separator: " | ")) |")
        }
    }

    /// For who still has one of these in a file.
    private func sayRemoved() {
        Console.say("\n## Settings that no longer exist\n\n| name | what to do |\n|---|---|")
        for setting in RemovedSetting.all {
            Console.say("| `\(setting.name)` | \(Self.escaped(setting.remedy.description)) |")
        }
    }

    /// What GitHub makes of a heading.
    private static func anchor(_ heading: String) -> String { heading.lowercased().replacing(" ", with: "-") }

    private static func code(_ value: String) -> String { value.isEmpty ? "" : "`\(escaped(value, "|"))`" }

    /// For who moves from another product: each of its names, and ours.
    private func say(_ vendor: ForeignSetting.Vendor) {
        Console.say("\n## Coming from \(vendor.rawValue)\n\n| name there | name here | what differs |\n|---|---|---|")
        for setting in ForeignSetting.all where setting.vendor == vendor {
            let ours = setting.key.map { "`\(SettingsTable.description(of: $0).name)`" } ?? "none"
            Console.say("| `\(setting.name)` | \(ours) | \(Self.escaped(setting.note.description)) |")
        }
    }

    /// Bars end a cell of the table, and words in angle brackets vanish, unless a backslash stands before them.
    private static func escaped(_ text: String, _ special: String = "|<") -> String {
        var escaped = ""
        for character in text {
            if special.contains(character) { escaped.append("\\") }
            escaped.append(character)
        }
        return escaped
    }

    private func values(_ row: SettingDescription) -> String {
        let unit = row.unit.description.isEmpty ? "" : " \(row.unit)"
        return switch row.kind {
        case .text: "text"
        case .path: "path"
        case .textOrFile: "text, or `@/path`"
        case .origin, .url: "https URL"
        case .proxy: "host:port"
        case .integer(let range): "\(range.lowerBound) to \(range.upperBound)\(unit)"
        case .flag: "0 or 1"
        case .payloads: "`auto`, `plain`, `mizutech`, `flexisip`, with exceptions"
        case .methods: WakingMethods.known.map { "`\($0)`" }.joined(separator: ", ")
        case .store: "`sqlite`, `memory` or a server's address"
        case .nodeURI: "SIP URI"
        case .capture: "host:port, tcp:host:port, tls:host:port"
        case .choice(let choices): choices.map { "`\($0)`" }.joined(separator: ", ")
        }
    }

    private func others(_ key: SettingKey) -> String {
        ForeignSetting.all.filter { $0.key == key }.map { "\($0.vendor.rawValue) `\($0.name)`" }.joined(separator: ", ")
    }
}

/// Where a subcommand takes its settings from.
struct SettingsOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("Settings file, one name = value a line; or a whole kamailio.cfg.", valueName: "file"),
        completion: .file())
    var settings: String?

    @Option(
        name: .long, help: ArgumentHelp("One setting; may be repeated.", valueName: "name=value"),
        completion: Completion.settings)
    var set: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Unix socket of the engine (the setting engine_socket, or PUSHWAKE_SOCKET in the environment).",
            valueName: "path"),
        completion: .file())
    var socket: String?

    /// Whether the word behind this one belongs to it: the names of all options above.
    static func takesValue(_ option: String) -> Bool { ["--settings", "--set", "--socket"].contains(option) }

    /// The values that file and options give; every problem goes to standard error and ends the command.
    func load() throws -> Settings {
        var values = Settings()
        if let settings {
            let text: String
            do throws(SystemError) {
                text = try TextFile.read(settings)
            } catch {
                Console.printError("cannot \(error); give a readable file with --settings")
                throw ExitCode(2)
            }
            if KamailioConfiguration.isOne(text) { return try load(kamailio: text, settings) }
            let problems = values.read(file: text)
            for problem in problems {
                Console.printError("\(settings):\(problem.line): \(problem.error.setting): \(problem.error.message)")
            }
            if !problems.isEmpty { throw ExitCode(2) }
        }
        for (name, value) in try others() { try assign(&values, name, value) }
        return values
    }

    /// What a whole kamailio.cfg sets, as `pushwake check` reads it.
    private func load(kamailio text: String, _ file: String) throws -> Settings {
        let configuration = KamailioConfiguration(
            text, file: file, environment: environmentVariable, read: { try? TextFile.read($0) })
        var (values, mistakes) = configuration.settings
        for mistake in mistakes {
            let place = "\(mistake.location.file):\(mistake.location.line)"
            Console.printError("\(place): \(mistake.error.setting): \(mistake.error.message)")
        }
        if !mistakes.isEmpty { throw ExitCode(2) }
        for (name, value) in try others() { try assign(&values, name, value) }
        return values
    }

    /// What stands above the file.
    func others() throws -> [(name: String, value: String)] {
        var others: [(name: String, value: String)] = []
        for pair in set {
            guard let equals = pair.firstIndex(of: "=") else {
                Console.printError("--set \(pair): write name=value")
                throw ExitCode(2)
            }
            others.append((String(pair[..<equals]), String(pair[pair.index(after: equals)...])))
        }
        // A dialplan cannot give options to the script that it starts; its environment can.
        if let socket = socket ?? getenv("PUSHWAKE_SOCKET").map({ String(cString: $0) }) {
            others.append(("engine_socket", socket))
        }
        return others
    }

    private func assign(_ values: inout Settings, _ name: String, _ value: String) throws {
        do throws(SettingError) {
            try values.set(name, to: value)
        } catch {
            Console.printError("\(error.setting): \(error.message)")
            throw ExitCode(2)
        }
    }
}
