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
    /// A caller may dial a hyphen, and a text may begin with one: behind the command nothing is an option.
    @Argument(parsing: .captureForPassthrough, help: "Command and its arguments.") var arguments: [String] = []

    func run() throws {
        AGIProcess(settings: try options.load(), arguments: arguments).run()
    }
}
