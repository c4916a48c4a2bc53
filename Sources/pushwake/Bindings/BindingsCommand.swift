// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeClient
import PushWakeCore

struct BindingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bindings", abstract: "Lists, shows, removes and restores push bindings.",
        discussion: """
            pushwake bindings                               # all, in short
            pushwake bindings alice                         # hers; removed ones with the reason
            pushwake bindings --user 'a*' --provider fcm    # some of them
            pushwake bindings --verdict 'notifications off' --age +1w
            pushwake bindings show alice                    # all that is known of hers
            pushwake bindings remove alice --provider fcm
            pushwake bindings restore --since 2h            # what went in error comes back
            pushwake bindings export --secrets >file        # for another store
            pushwake bindings import file

            Conditions of a listing, all of which must hold:
              --user PATTERN     users that match * and ?
              --provider NAME    \(Provider.allCases.map(\.name).joined(separator: ", "))
              --verdict TEXT     a part of the column verdict
              --age +2d, -1h     registered longer ago, or since then

            Tokens are shortened. list is the default; for a user with the name show write list show.
            """,
        subcommands: [List.self, Show.self, Remove.self, Restore.self, Export.self, Import.self],
        defaultSubcommand: List.self)
}

extension BindingsCommand {
    /// The conditions of a listing, as options.
    struct Conditions: ParsableArguments {
        @Option(
            name: .long, parsing: .unconditional,
            help: "Users that match a pattern with * and ?; without an @ it is matched against the user part.")
        var user: String?
        @Option(
            name: .long, help: "\(Provider.allCases.map(\.name).joined(separator: ", ")).",
            completion: Completion.providers)
        var provider: String?
        @Option(
            name: .long, parsing: .unconditional,
            help: "A part of the text in the column verdict, such as 'notifications off', 'failed' or 'wakes in'.")
        var verdict: String?
        @Option(
            name: .long, parsing: .unconditionalSingleValue,
            help: "Registered longer ago than that (+2d) or since then (-1h): s, m, h, d, w. May be given twice.")
        var age: [String] = []

        func made(aor: String?) throws -> ListingConditions {
            let given =
                [("aor", aor), ("user", user), ("provider", provider), ("verdict", verdict)] + age.map { ("age", $0) }
            return try BindingsCommand.conditions(given)
        }
    }

    /// What does not fit is an error of usage.
    static func conditions(_ given: [(name: String, value: String?)]) throws -> ListingConditions {
        var conditions = ListingConditions()
        do throws(ListingConditions.Mistake) {
            for (name, value) in given {
                if let value { try conditions.add(name, value) }
            }
        } catch {
            throw ValidationError(error.message)
        }
        return conditions
    }

    /// `pushwake bindings [AOR]`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists bindings, a line each.",
            discussion: """
                age is the time since the last REGISTER. verdict says how pushes have ended since the engine started, or \
                why a binding was removed. A line has 100 characters at most; --json has all columns in full; there -1 \
                means never.
                """)

        @OptionGroup var options: SettingsOptions
        @OptionGroup(title: "Conditions, all of which must hold") var conditions: Conditions
        @Flag(name: .long, help: "JSON with full values instead of a table.") var json = false
        @Argument(
            help: "AoR, as the registrar has it: user or user@domain. Without it, all users.",
            completion: Completion.users)
        var aor: String?

        func validate() throws { _ = try conditions.made(aor: aor) }

        func run() throws {
            let asked = try conditions.made(aor: aor)
            var table = BindingTable()
            var objects: [UInt8] = []
            let count = try BindingsCommand.ask(options, .find, asked) { row in
                guard json else { return table.add(row) }
                objects += (objects.isEmpty ? "" : ",\n ").utf8
                objects += Console.object(row).utf8
            }
            if json {
                Console.write(Array("[".utf8) + objects + Array("]\n".utf8), to: 1)
            } else if count > 0 {
                Console.write(table.lines.joined(separator: "\n") + "\n", to: 1)
            } else {
                BindingsCommand.sayNone(asked)
            }
            if count == 0 && aor != nil { throw ExitCode(1) }
        }
    }

    /// Whose bindings, and which of them.
    struct OfUser: ParsableArguments {
        @Option(name: .long, help: "Only those of one provider.", completion: Completion.providers)
        var provider: String?
        @Argument(help: "AoR, as the registrar has it: user or user@domain.", completion: Completion.users)
        var aor: String

        func validate() throws { _ = try conditions() }

        func conditions() throws -> ListingConditions {
            try BindingsCommand.conditions([("aor", aor), ("provider", provider)])
        }
    }

    /// `pushwake bindings show AOR`.
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows all that is known of a user's bindings, removed ones too.")

        @OptionGroup var options: SettingsOptions
        @Flag(name: .long, help: "JSON instead of lines.") var json = false
        @OptionGroup var user: OfUser

        func run() throws {
            let asked = try user.conditions()
            var rows: [[EngineField]] = []
            try BindingsCommand.ask(options, .find, asked) { rows.append($0) }
            if json {
                Console.show(rows, asJSON: true)
            } else {
                let parts = rows.map { BindingTable.details($0).joined(separator: "\n") + "\n" }
                Console.write(parts.joined(separator: "\n"), to: 1)
            }
            guard !rows.isEmpty else {
                if !json { BindingsCommand.sayNone(asked) }
                throw ExitCode(1)
            }
        }
    }

    /// `pushwake bindings remove AOR`.
    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Removes a user's bindings.",
            discussion: """
                From then on nothing is pushed to them. A phone that registers again with its token gets a new binding.
                """)

        @OptionGroup var options: SettingsOptions
        @Flag(name: .long, help: "JSON instead of a sentence.") var json = false
        @OptionGroup var user: OfUser

        func run() throws {
            let asked = try user.conditions()
            var removed: Int64 = 0
            try BindingsCommand.ask(options, .removeFound, asked) { row in
                removed = row.first { $0.name == "removed" }?.number ?? 0
            }
            if json {
                Console.say("{\"removed\":\(removed)}")
            } else if removed > 0 {
                Console.say("removed \(removed) binding\(removed == 1 ? "" : "s") of \(user.aor)")
            } else {
                BindingsCommand.sayNone(asked)
            }
            if removed == 0 { throw ExitCode(1) }
        }
    }

    /// Asks, and tells a terminal how far it is.
    @discardableResult
    private static func ask(
        _ options: SettingsOptions, _ query: EngineQuery, _ conditions: ListingConditions,
        onRow: ([EngineField]) -> Void
    ) throws -> Int {
        var progress = TerminalProgress("bindings")
        defer { progress.end() }
        return try Engine.ask(options, query, conditions.lines, onPage: { progress.show($0) }, onRow: onRow)
    }

    private static func sayNone(_ conditions: ListingConditions) {
        let isMore = conditions != ListingConditions(aor: conditions.aor)
        switch (conditions.aor.isEmpty, isMore) {
        case (true, false): Console.printError("there are no bindings")
        case (true, true): Console.printError("no binding is like that")
        case (false, false): Console.printError("\(conditions.aor) has no push binding")
        case (false, true): Console.printError("\(conditions.aor) has no such push binding")
        }
    }
}
