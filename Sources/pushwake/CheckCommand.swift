// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeCore
import PushWakeEngine
import PushWakeTransport

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Checks a settings file and the keys it names.",
        discussion: "Exit code 0 when nothing is wrong, 1 when something is, 2 when the file cannot be read.")

    @Argument(help: "Settings file, one name = value a line.") var file: String

    @Option(
        name: .long,
        help: "User that the engine runs as: root looks at the keys as this user does. Otherwise the owner of the store."
    )
    var user: String?

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
        let reader = try becomeReader(settings)
        let findings = SettingsInspection.inspect(settings)
        for finding in findings {
            let line = Self.line(of: finding.setting, in: text).map { ":\($0)" } ?? ""
            Console.say("\(file)\(line): \(finding.level.name): \(finding.setting): \(finding.message)")
        }
        guard problems.isEmpty && findings.isEmpty else {
            if let reader { Console.say("\(file): looked at as user \(reader)") }
            throw ExitCode(1)
        }
        Console.say("\(file): all is well\(reader.map { " for user \($0)" } ?? "")")
    }

    /// Root may read everything, the PBX may not: goes on as the user of the engine, and gives the name.
    private func becomeReader(_ settings: Settings) throws -> String? {
        let reader: ProcessUser
        if let user {
            guard let named = ProcessUser(named: user) else {
                Console.complain("there is no user \(user); name the one that the PBX runs as with --user")
                throw ExitCode(2)
            }
            reader = named
        } else {
            guard ProcessUser.current?.isRoot == true else { return nil }
            let place = Directory.parent(of: settings.text(.storePath))
            guard let owner = ProcessUser(owning: place), !owner.isRoot else {
                Console.say("\(file): looked at as root, who may read everything; --user NAME looks as the PBX does")
                return nil
            }
            reader = owner
        }
        guard !reader.isCurrent else { return reader.name }
        do throws(SystemError) {
            try reader.become()
        } catch {
            Console.complain("cannot \(error); run it as root or as that user")
            throw ExitCode(2)
        }
        return reader.name
    }

    private static func line(of setting: String, in text: String) -> Int? {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        return lines.firstIndex { line in
            line.drop { $0 == " " || $0 == "\t" }.prefix { $0 != "=" && $0 != " " && $0 != "\t" } == setting
        }.map { $0 + 1 }
    }
}
