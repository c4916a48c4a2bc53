// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeClient

struct AGICommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agi", abstract: "Wakes phones for Asterisk's AGI().",
        discussion: """
            wake AOR [TIMEOUT], send EVENT AOR [TEXT], bindings AOR. Sets PUSHWAKE_STATUS and more in the channel; \
            after any error the dialplan goes on.
            """)

    @OptionGroup var options: SettingsOptions
    @Argument(parsing: .remaining, help: "Command and its arguments.") var arguments: [String] = []

    /// The words of a command line, with `--` before the command of the dialplan: a caller may dial a hyphen, and a text
    /// may begin with one, so nothing behind it is an option.
    static func closed(_ words: [String]) -> [String] {
        guard words.first == configuration.commandName else { return words }
        var index = 1
        while index < words.count, words[index].hasPrefix("-"), words[index] != "--" {
            index += SettingsOptions.takesValue(words[index]) ? 2 : 1
        }
        guard index < words.count else { return words }
        return words[..<index] + ["--"] + words[index...].drop { $0 == "--" }
    }

    func run() throws {
        AGIProcess(settings: try options.load(), arguments: arguments).run()
    }
}
