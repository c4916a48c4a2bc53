// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeCore

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
                "| `\(row.name)` | \(values(row)) | \(fallback.isEmpty ? "" : "`\(fallback)`") | \(Self.escaped(row.help)) | \(others(row)) |"
            )
        }
    }

    /// Bars end a cell of the table, and words in angle brackets vanish, unless a backslash stands before them.
    private static func escaped(_ text: StaticString) -> String {
        var escaped = ""
        for character in text.description {
            if "|<".contains(character) { escaped.append("\\") }
            escaped.append(character)
        }
        return escaped
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
        case .methods: WakingMethods.known.map { "`\($0)`" }.joined(separator: ", ")
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
