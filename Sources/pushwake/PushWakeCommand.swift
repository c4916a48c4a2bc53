// SPDX-License-Identifier: MIT

import ArgumentParser

@main
struct PushWakeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushwake", abstract: "Wakes sleeping phones for SIP servers.")
}
