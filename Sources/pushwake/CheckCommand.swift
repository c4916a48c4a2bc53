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
