// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeCore
import PushWakeEngine

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Checks a settings file and the keys it names.",
        discussion: "Exit code 0 when nothing is wrong, 1 when something is, 2 when the file cannot be read.")

    @Argument(help: "Settings file, one name = value a line.") var file: String

    func run() throws {
        guard let text = TextFile.read(file) else {
            Console.complain("cannot read \(file); give a readable file")
            throw ExitCode(2)
        }
        var settings = Settings()
        let problems = settings.read(file: text)
        for problem in problems {
            Console.say("\(file):\(problem.line): error: \(problem.error.setting): \(problem.error.message)")
        }
        let findings = SettingsInspection.inspect(settings)
        for finding in findings {
            let line = Self.line(of: finding.setting, in: text).map { ":\($0)" } ?? ""
            Console.say("\(file)\(line): \(finding.level.name): \(finding.setting): \(finding.message)")
        }
        guard problems.isEmpty && findings.isEmpty else { throw ExitCode(1) }
        Console.say("\(file): all is well")
    }

    private static func line(of setting: String, in text: String) -> Int? {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        return lines.firstIndex { line in
            line.drop { $0 == " " || $0 == "\t" }.prefix { $0 != "=" && $0 != " " && $0 != "\t" } == setting
        }.map { $0 + 1 }
    }
}

struct SettingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings", abstract: "Prints every setting as a Markdown table (docs/settings.md).")

    func run() throws {
        Console.say("# Settings\n")
        Console.say(
            "Made by `pushwake settings` from the one table that Kamailio modparams, pushwake.conf and `pushwake check` share.\n"
        )
        Console.say("| name | values | default | meaning | elsewhere |\n|---|---|---|---|---|")
        for key in SettingKey.allCases {
            let row = SettingsTable.description(of: key)
            let fallback = row.defaultValue.description
            Console.say(
                "| `\(row.name)` | \(values(row)) | \(fallback.isEmpty ? "" : "`\(fallback)`") | \(row.help) | \(others(row)) |"
            )
        }
    }

    private func values(_ row: SettingDescription) -> String {
        let unit = row.unit.description.isEmpty ? "" : " \(row.unit)"
        return switch row.kind {
        case .text: "text"
        case .path: "path"
        case .origin, .url: "https URL"
        case .proxy: "host:port"
        case .integer(let range): "\(range.lowerBound) to \(range.upperBound)\(unit)"
        case .flag: "0 or 1"
        case .payloads: "`plain`, `mizutech`, `flexisip`, with exceptions"
        case .choice(let choices): choices.map { "`\($0)`" }.joined(separator: ", ")
        }
    }

    private func others(_ row: SettingDescription) -> String {
        row.otherNames.description.split(separator: ",").map { part in
            let name = part.drop { $0 == " " }
            return (name.first == "m" ? "Mizutech `" : "Flexisip `") + name.dropFirst(2) + "`"
        }.joined(separator: ", ")
    }
}
