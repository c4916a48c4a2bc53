// SPDX-License-Identifier: MIT

import ArgumentParser
@preconcurrency import Glibc
import PushWakeCanary
import PushWakeClient
import PushWakeCore
import PushWakeSystem
import PushWakeTransport

struct CanaryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "canary", abstract: "Calls a test user through the PBX and says whether the phone rings.",
        discussion: """
            Ends the call when it rings (or is answered, with --goal answer). Exit code 1 when it does not in time. With \
            --every it goes on, until it is told to end.
            """)

    @OptionGroup var way: CallOptions
    @Option(name: .long, help: "ringing or answer.", completion: .list(["ringing", "answer"])) var goal = "ringing"
    @Option(name: .long, help: "Seconds within which the phone must ring, or answer.") var within = 20
    @Option(name: .long, help: ArgumentHelp("Minutes from one call to the next.", valueName: "minutes")) var every: Int?
    @Option(
        name: .long, help: ArgumentHelp("Result for the node exporter's textfile collector.", valueName: "file"),
        completion: .file())
    var metrics: String?
    @Option(name: .long, help: ArgumentHelp("Run with user and reason when a call fails.", valueName: "program"))
    var alarm: String?
    @Flag(name: .long, help: "JSON: an object for each call.") var json = false
    @Argument(help: "URI of the test user: sip:test@pbx.example.com.") var user: String

    func validate() throws {
        try way.check(user)
        guard CanaryPlan.Goal(rawValue: goal) != nil else { throw ValidationError("--goal takes ringing or answer") }
        guard (1...600).contains(within) else { throw ValidationError("--within takes 1 to 600") }
        guard (1...1440).contains(every ?? 1) else { throw ValidationError("--every takes 1 to 1440") }
    }

    func run() throws {
        // Alarms that have ended are nobody's business.
        _ = signal(SIGCHLD, SIG_IGN)
        let known = try way.readAccount()
        while true {
            let began = SystemClock.monotonicMilliseconds()
            let isGood = play(known)
            guard let every else {
                if !isGood { throw ExitCode(1) }
                return
            }
            let rest = began + Int64(every) * 60_000 - SystemClock.monotonicMilliseconds()
            SystemClock.wait(milliseconds: Int32(clamping: max(0, rest)))
        }
    }

    private func play(_ account: CanaryPlan.Account?) -> Bool {
        let callID = "canary-\(Hex.encode(Crypto.randomBytes(12)))"
        let result = call(callID, account)
        report(result, callID)
        if let metrics {
            writeMetrics(CanaryReport.metrics(result, user: user, wallSeconds: SystemClock.wallSeconds()), to: metrics)
        }
        if !result.isGood, let alarm { ring(alarm, result.text) }
        return result.isGood
    }

    private func call(_ callID: String, _ account: CanaryPlan.Account?) -> CanaryResult {
        var plan = way.plan(to: user, callID, account)
        plan.goal = CanaryPlan.Goal(rawValue: goal) ?? .ringing
        plan.timeout = Int64(within) * 1000
        return way.play(plan)
    }

    private func report(_ result: CanaryResult, _ callID: String) {
        guard !json else {
            var writer = JSONWriter()
            writer.object { writer in
                for (name, value) in [("user", user), ("call_id", callID), ("text", result.text)] {
                    writer.name(name)
                    writer.string(value)
                }
                writer.name("success")
                writer.bool(result.isGood)
                writer.name("status")
                writer.integer(Int64(result.status))
                for (name, value) in [("ring_ms", result.ringing), ("answer_ms", result.answer)] {
                    guard let value else { continue }
                    writer.name(name)
                    writer.integer(value)
                }
            }
            return Console.say(String(decoding: writer.bytes, as: UTF8.self))
        }
        let time = (goal == "answer" ? result.answer : result.ringing).map { " after \($0) ms" } ?? ""
        Console.say(
            result.isGood
                ? "ok     \(user): \(result.text)\(time)"
                : "fails  \(user): \(result.text). Ask: pushwake trace \(callID)")
    }

    /// Whole or not at all: the collector may read at any time.
    private func writeMetrics(_ bytes: [UInt8], to path: String) {
        let draft = "\(path).\(SystemClock.processID())"
        let isWritten = fopen(draft, "w").map { file in
            let count = fwrite(bytes, 1, bytes.count, file)
            return fclose(file) == 0 && count == bytes.count
        }
        guard isWritten == true, rename(draft, path) == 0 else {
            _ = unlink(draft)
            return Console.printError("\(path) cannot be written: \(String(cString: strerror(errno)))")
        }
    }

    private func ring(_ program: String, _ reason: String) {
        let words = [program, user, reason]
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { (word: String) in strdup(word) }
        defer { for argument in arguments { free(argument) } }
        arguments.append(nil)
        var pid = pid_t()
        let code = posix_spawnp(&pid, program, nil, nil, arguments, environ)
        if code != 0 { Console.printError("\(program) cannot be run: \(String(cString: strerror(code)))") }
    }
}
