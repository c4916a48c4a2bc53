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

    @Option(
        name: .long, help: "URI of the caller; without it the account's user, else canary, at the test user's domain.")
    var from: String?
    @Option(name: .long, help: ArgumentHelp("Where the PBX is, when not at the URI's host.", valueName: "host[:port]"))
    var proxy: String?
    @Option(name: .long, help: "udp or tcp.") var transport = "udp"
    @Option(name: .long, help: "ringing or answer.") var goal = "ringing"
    @Option(name: .long, help: "Seconds within which the phone must ring, or answer.") var within = 20
    @Option(name: .long, help: ArgumentHelp("Minutes from one call to the next.", valueName: "minutes")) var every: Int?
    @Option(name: .long, help: ArgumentHelp("File with user:password for the PBX.", valueName: "file"))
    var account: String?
    @Option(name: .long, help: ArgumentHelp("Result for the node exporter's textfile collector.", valueName: "file"))
    var metrics: String?
    @Option(name: .long, help: ArgumentHelp("Run with user and reason when a call fails.", valueName: "program"))
    var alarm: String?
    @Flag(name: .long, help: "JSON: an object for each call.") var json = false
    @Argument(help: "URI of the test user: sip:test@pbx.example.com.") var user: String

    func validate() throws {
        let isURI = user.hasPrefix("sip:") && user.dropFirst(4).contains("@")
        let texts = [user, from ?? "", proxy ?? ""]
        guard isURI, texts.allSatisfy({ $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3C && $0 != 0x3E } })
        else { throw ValidationError("write the user as sip:user@host or sip:user@host:port") }
        guard from?.hasPrefix("sip:") != false else { throw ValidationError("--from takes a SIP URI") }
        guard CanaryPlan.Transport(rawValue: transport) != nil else {
            throw ValidationError("--transport takes udp or tcp")
        }
        guard CanaryPlan.Goal(rawValue: goal) != nil else { throw ValidationError("--goal takes ringing or answer") }
        guard (1...600).contains(within) else { throw ValidationError("--within takes 1 to 600") }
        guard (1...1440).contains(every ?? 1) else { throw ValidationError("--every takes 1 to 1440") }
        guard place != nil else {
            throw ValidationError(
                proxy == nil
                    ? "\(user): write the user as sip:user@host or sip:user@host:port, the port up to 65535"
                    : "--proxy takes host or host:port")
        }
    }

    func run() throws {
        // Alarms that have ended are nobody's business.
        _ = signal(SIGCHLD, SIG_IGN)
        let known = try readAccount()
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
        let domain = user[(user.firstIndex(of: "@") ?? user.startIndex)...]
        var plan = CanaryPlan(
            target: user, caller: from ?? "sip:\(caller(account))\(domain)", localAddress: "", callID: callID,
            random: UInt64.random(in: 0...UInt64.max), hash: { Crypto.digest($0, $1) })
        plan.transport = CanaryPlan.Transport(rawValue: transport) ?? .udp
        plan.goal = CanaryPlan.Goal(rawValue: goal) ?? .ringing
        plan.timeout = Int64(within) * 1000
        plan.account = account
        do {
            let (host, port) = place ?? ("", 0)
            return try CanaryLine(plan, host: host, port: port).run()
        } catch let error as CanaryLine.Failure {
            return CanaryResult(isGood: false, status: 0, text: error.message)
        } catch {
            return CanaryResult(isGood: false, status: 0, text: "\(error)")
        }
    }

    /// A PBX lets an account call under its own name.
    private func caller(_ account: CanaryPlan.Account?) -> Substring {
        account.map { $0.name.prefix { $0 != "@" } } ?? "canary"
    }

    /// Host and port of the PBX: 5060 where none is written.
    private var place: (host: String, port: UInt16)? {
        var text = proxy ?? String(user[user.index(after: user.firstIndex(of: "@") ?? user.startIndex)...])
        if let end = text.firstIndex(where: { $0 == ";" || $0 == "?" }) { text = String(text[..<end]) }
        let isBare = text.hasSuffix("]") || !text.contains(":")
        guard let address = try? CaptureAddress(isBare ? "\(text):5060" : text) else { return nil }
        return (address.host, address.port)
    }

    private func readAccount() throws -> CanaryPlan.Account? {
        guard let account else { return nil }
        // By bytes: to a String, CR and LF are one Character, which is no "\n".
        let bytes = FileContent.firstLine(of: (try? TextFile.readBytes(account)) ?? [])
        let line = String(decoding: bytes, as: UTF8.self)
        guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
            Console.printError("\(account): give a file whose first line is user:password")
            throw ExitCode(2)
        }
        return CanaryPlan.Account(
            name: String(line[..<colon]), password: Secret(String(line[line.index(after: colon)...])))
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
