// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeClient
import PushWakeCore

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Checks each step of a call to a user and names the one thing to do.",
        discussion: """
            Looks at the REGISTER, the key, the way to the push service, the last pushes, whether they woke the phone, and \
            the last call. Ends with 1 when a step fails.
            """)

    @OptionGroup var options: SettingsOptions
    @Flag(name: .long, help: "JSON: an array of steps, the advice last.") var json = false
    @Argument(help: "AoR as the registrar has it: user or user@domain.", completion: Completion.users)
    var user: String

    func run() throws {
        let rows = try Engine.ask(options, .diagnose, user)
        if json {
            Console.show(rows, asJSON: true)
        } else {
            for row in rows.dropLast() {
                Console.say("\(padded(row, "state", 6))\(padded(row, "step", 10))\(text(row, "text"))")
            }
            if let advice = rows.last { Console.say("\nDo: \(text(advice, "text"))") }
            // What nobody has tried is told to try it already.
            if rows.contains(where: {
                [.failing, .doubtful].contains(UserDiagnosis.State(rawValue: text($0, "state")))
            }) {
                Console.say(
                    "Then: pushwake try \(PrintableText.cleaned(user)) calls the phone, and names the step that is missing"
                )
            }
        }
        if rows.contains(where: { text($0, "state") == UserDiagnosis.State.failing.rawValue }) { throw ExitCode(1) }
    }

    private func text(_ row: [EngineField], _ name: String) -> String {
        PrintableText.cleaned(row.first { $0.name == name }?.text ?? "")
    }

    private func padded(_ row: [EngineField], _ name: String, _ width: Int) -> String {
        let word = text(row, name)
        return word + String(repeating: " ", count: max(1, width - word.count))
    }
}
