// SPDX-License-Identifier: MIT

import ArgumentParser
import Glibc
import PushWakeClient
import PushWakeCore
import PushWakeEngine

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Prints the pushes that a request would cause, as JSON, and sends none.",
        discussion: """
            pushwake explain --register register.sip --request invite.sip --settings pushwake.conf
            pushwake explain --aor 2222 --request invite.sip --settings pushwake.conf

            With --aor the running engine answers, with its own settings; without one the store's file is read.

            Exit code 0 when done, 1 when a file is no SIP, 2 when something cannot be read.
            """)

    @OptionGroup var options: SettingsOptions
    @Option(name: .long, help: "File with the REGISTER of the phone, or - for standard input.") var register: String?
    @Option(name: .long, help: "AoR whose bindings the engine has, or the file that store_path names.") var aor: String?
    @Option(name: .long, help: "File with the request: an INVITE, a MESSAGE, …") var request: String?
    @Option(name: .long, help: "call, chat, cancel, … in place of what the request says.") var event: String?
    @Option(
        name: .customLong("push-type"),
        help:
            "For Apple: voip, alert or background in place of what the event gives; a token that may not have it is skipped."
    )
    var pushType: String?
    @Flag(name: .long, help: "Accepted for symmetry: the output is always JSON.") var json = false

    func run() throws {
        let chosen = event.flatMap { PushEvent(name: $0) }
        if let event, chosen == nil {
            throw failure(
                "there is no event \(event); write one of \(PushEvent.names)", 2)
        }
        let wanted = pushType.flatMap { APNsPushType(name: $0) }
        if let pushType, wanted == nil {
            throw failure("there is no push type \(pushType); write voip, alert or background", 2)
        }
        guard let request, (register == nil) != (aor == nil) else {
            throw failure("give --request FILE, and --register FILE or --aor AOR", 2)
        }
        let settings = try options.load()
        do throws(PushExplanation.Failure) {
            let explanation: PushExplanation
            if let aor {
                explanation = try explain(aor, try contents(request), chosen, wanted, settings)
            } else {
                explanation = try PushExplanation.explain(
                    register: try contents(register ?? ""), request: try contents(request), event: chosen,
                    wanted: wanted, settings: settings)
            }
            for problem in explanation.problems { Console.printError(problem) }
            Console.write(explanation.json + [0x0A], to: STDOUT_FILENO)
        } catch {
            switch error {
            case .notSIP(let message): throw failure(message, 1)
            case .unreadable(let message): throw failure(message, 2)
            }
        }
    }

    /// The engine knows best; a file can be read without one.
    private func explain(
        _ aor: String, _ request: [UInt8], _ event: PushEvent?, _ wanted: APNsPushType?, _ settings: Settings
    ) throws(PushExplanation.Failure) -> PushExplanation {
        do throws(ClientError) {
            return try EngineClient(settings: settings).explain(
                aor: aor, request: request, event: event, wanted: wanted)
        } catch {
            switch error {
            case .unavailable(let text):
                if settings.storeChoice != .sqlite {
                    throw .unreadable("no engine answers (\(text)), and with store=memory nobody else has bindings")
                }
            case .timeout: throw .unreadable("the engine did not answer in time")
            case .tooLarge:
                throw .unreadable("the request is longer than one message to the engine; give a shorter one")
            case .refused(let text), .notFound(let text): throw .notSIP(text)
            }
        }
        return try PushExplanation.explain(
            aor: aor, request: request, event: event, wanted: wanted, settings: settings)
    }

    private func contents(_ path: String) throws(PushExplanation.Failure) -> [UInt8] {
        guard let bytes = TextFile.readBytes(path) else {
            throw .unreadable("cannot read \(path); give a readable file of at most 16 MB, or - for standard input")
        }
        guard !bytes.isEmpty else { throw .notSIP("\(path) is empty; give a file with a whole SIP message") }
        return bytes
    }

    private func failure(_ message: String, _ code: Int32) -> ExitCode {
        Console.printError(message)
        return ExitCode(code)
    }
}
