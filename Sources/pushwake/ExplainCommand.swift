// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeCore

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Prints, as JSON, the pushes that a request would cause, without sending them.",
        discussion: """
            pushwake explain --register register.sip --request invite.sip --settings pushwake.conf
            pushwake explain --aor 2222 --request invite.sip --settings pushwake.conf

            With --aor the running engine answers, with its own settings; without one the store's file is read.

            Exit code 0 when done, 1 when a file is no SIP, 2 when something cannot be read.
            """)

    @OptionGroup var options: SettingsOptions
    @Option(name: .long, help: "File with the REGISTER of the phone, or - for standard input.", completion: .file())
    var register: String?
    @Option(
        name: .long, help: "AoR whose bindings the engine has, or the file of store_path.", completion: Completion.users
    )
    var aor: String?
    @Option(name: .long, help: "File with the request: an INVITE, a MESSAGE, …", completion: .file()) var request:
        String?
    @Option(
        name: .long, help: "call, chat, cancel, …, instead of the event that follows from the request.",
        completion: Completion.events)
    var event: String?
    @Option(
        name: .customLong("push-type"),
        help:
            "For Apple: voip, alert or background in place of what the event gives; a token that may not have it is skipped."
    )
    var pushType: String?
    @Flag(name: .long, help: "Accepted for symmetry: the output is always JSON.") var json = false

    @OptionGroup var library: LibraryOptions

    func run() throws {
        if let event, PushEvent(name: event) == nil {
            throw failure("there is no event \(event); write one of \(PushEvent.names)")
        }
        if let pushType, APNsPushType(name: pushType) == nil {
            throw failure("there is no push type \(pushType); write voip, alert or background")
        }
        guard let request, (register == nil) != (aor == nil) else {
            throw failure("give --request FILE, and --register FILE or --aor AOR")
        }
        let given: [(String, String?)] = [
            ("register", register), ("aor", aor), ("request", request), ("event", event), ("push-type", pushType),
        ]
        try library.run("explain", given.compactMap { name, value in value.map { (name, $0) } }, try options.load())
    }

    private func failure(_ message: String) -> ExitCode {
        Console.printError(message)
        return ExitCode(2)
    }
}
