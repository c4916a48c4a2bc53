// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeClient
import PushWakeCore

extension BindingsCommand {
    /// `pushwake bindings restore`.
    struct Restore: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Brings back bindings that were removed in error.",
            discussion: """
                pushwake bindings restore --since 2h --dry-run
                pushwake bindings restore --since 2h --reason BadDeviceToken
                pushwake bindings restore --since 1d --reason 'by hand' alice

                Removed bindings stay listed for 30 days, or until the phone registers again; what has is not restored. \
                A restored binding is pushed from the next call on. Exit code 1: there was none.
                """)

        @OptionGroup var options: SettingsOptions
        @Option(name: .long, help: "Removed within this time: 90s, 15m, 2h, 3d, 1w.") var since: String
        @Option(
            name: .long, parsing: .unconditional,
            help: "A part of the reason that `pushwake bindings AOR` shows; by default all that a provider called dead."
        )
        var reason = RestoreConditions.usualReason
        @Option(
            name: .long, parsing: .unconditional,
            help: "Users that match a pattern with * and ?; without an @ it is matched against the user part.")
        var user: String?
        @Option(name: .long, help: "Only those of one provider.", completion: Completion.providers)
        var provider: String?
        @Flag(name: .long, help: "Say what would come back, and change nothing.") var dryRun = false
        @Flag(name: .long, help: "JSON instead of a table.") var json = false
        @Argument(
            help: "AoR, as the registrar has it: user or user@domain. Without it, all users.",
            completion: Completion.users)
        var aor: String?

        func validate() throws { _ = try conditions() }

        private func conditions() throws -> RestoreConditions {
            do throws(ListingConditions.Mistake) {
                return try RestoreConditions(
                    since: since, reason: reason, isDry: dryRun,
                    further: [("aor", aor), ("user", user), ("provider", provider)])
            } catch {
                throw ValidationError(error.message)
            }
        }

        func run() throws {
            let asked = try conditions()
            var table = BindingTable()
            var rows: [[EngineField]] = []
            var progress = TerminalProgress("bindings")
            let count = try Engine.ask(options, .restore, asked.lines, onPage: { progress.show($0) }) { row in
                if json { rows.append(row) } else { table.add(row) }
            }
            progress.end()
            if json {
                Console.show(rows, asJSON: true)
            } else if count > 0 {
                Console.say(table.lines.joined(separator: "\n"))
                let what = "\(count) binding\(count == 1 ? "" : "s")"
                Console.say(dryRun ? "\(what) would be restored" : "restored \(what)")
            } else {
                Console.printError(
                    "no binding like that was removed within \(since), or its phone has registered since")
            }
            if count == 0 { throw ExitCode(1) }
        }
    }
}
