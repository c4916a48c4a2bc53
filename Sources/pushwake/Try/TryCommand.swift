// SPDX-License-Identifier: MIT

import ArgumentParser
import Glibc
import PushWakeCanary
import PushWakeClient
import PushWakeCore
import PushWakeSystem

struct TryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "try",
        abstract: "Wakes a real phone by a call through the PBX, and names the step that is missing.",
        discussion: """
            Calls the user as pushwake canary does, so that the phone rings, and prints a line for each step: push accepted, \
            REGISTER, same token and instance, one REGISTER, INVITE, 100/180, end of the call. At the first one that is \
            missing it says what that means, and who has to do what. The phone must sleep: close the app and lock the phone.

            Exit code 0 when no step is missing; 1 when nothing could be tried; 10 there is no binding; 11 the call did not \
            get to PushWake; 12 the phone was awake; 13 PushWake does not push; 14 the push was not accepted; 15 no \
            REGISTER; 16 no REGISTER after pushes that were followed by one; 17 the REGISTER came too late; 18 another \
            token, or none; 19 another instance; 20 several REGISTERs; 21 the request was not sent to the phone; 22 the \
            phone has not answered it; 23 it does not ring; 24 it refuses the call by itself; 25 the same with --late; 26 \
            it goes on ringing when the caller has hung up.

            Without a user: a second Kamailio on the installed configuration, with the simulator in the push services' \
            place and a phone of its own, says whether the server side works. The installed one is not touched.
            """)

    @OptionGroup var options: SettingsOptions
    @OptionGroup var way: CallOptions
    @Flag(name: .long, help: "A call with video.") var video = false
    @Flag(name: .long, help: "A text message (MESSAGE) instead of a call.") var text = false
    @Option(
        name: .customLong("repeat"),
        help: ArgumentHelp(
            "So many times; asks for the phone to be put to sleep before each, and to be restarted before the last.",
            valueName: "times"))
    var times = 1
    @Option(
        name: .long, help: ArgumentHelp("Pushes by hand first, and calls so many seconds later.", valueName: "seconds"))
    var late: Int?
    @Option(name: .long, help: "Seconds within which the phone must ring.") var within = 40
    @Option(name: .long, help: "Seconds for which it may ring and be answered, before the call is taken back.")
    var ring = 5
    @Flag(name: .long, help: "JSON: one object, for the app's developer.") var json = false
    @Option(
        name: .long,
        help: ArgumentHelp("Without a user: Kamailio's configuration.", valueName: "file"), completion: .file())
    var config = "/etc/kamailio/kamailio.cfg"
    @Argument(
        help: "AoR as the registrar has it (user or user@domain), or sip:user@host[:port].",
        completion: Completion.users)
    var user: String?

    func validate() throws {
        if let user { try way.check(uri(of: user)) }
        if video && text { throw ValidationError("take --video or --text") }
        guard (1...20).contains(times) else { throw ValidationError("--repeat takes 1 to 20") }
        guard (1...120).contains(late ?? 1) else { throw ValidationError("--late takes 1 to 120") }
        guard (1...600).contains(within) else { throw ValidationError("--within takes 1 to 600") }
        guard (1...60).contains(ring) else { throw ValidationError("--ring takes 1 to 60") }
    }

    /// Whom the PBX is asked for. One on this machine is called where nobody says where it is.
    private func uri(of user: String) -> String {
        if user.hasPrefix("sip:") { return user }
        return user.contains("@") ? "sip:\(user)" : "sip:\(user)@\(way.proxy ?? "127.0.0.1")"
    }

    func run() throws {
        guard let user else { return try tryServer() }
        let uri = uri(of: user)
        var trial = try WakingTrial(
            options, way, uri: uri, content: text ? .text : video ? .video : .audio, within: Int64(within) * 1000,
            ringTime: Int64(ring) * 1000, late: late.map { Int64($0) * 1000 })
        var report = TryReport(uri)
        if !json { Console.say("\(PrintableText.cleaned(user)), \(trial.method)") }
        for number in 1...times {
            if times > 1 || Descriptor.isTerminal(STDIN_FILENO) { askForSleep(number) }
            if Descriptor.isTerminal(STDERR_FILENO) {
                Console.write("Calling: look at the phone.\n", to: STDERR_FILENO)
            }
            var progress = TryReport.Progress()
            let round = try trial.play { [json] findings in
                if !json { Console.write(progress.text(findings), to: STDOUT_FILENO) }
            }
            report.add(round)
            if !json { Console.say(TryReport.conclusion(round)) }
            guard round.report.missing == nil else { break }
        }
        if json { Console.say(report.json) }
        if let missing = report.missing { throw ExitCode(missing.exitCode) }
    }

    private func tryServer() throws {
        let code: Int32
        do {
            code = try ServerTrial().run(config, json ? ["--json"] : [])
        } catch let failure as ServerTrial.Failure {
            Console.printError(failure.message)
            code = 1
        }
        if code == 0, !json {
            Console.say("The server side works. A real phone is tried by pushwake try USER.")
        }
        if code != 0 { throw ExitCode(code) }
    }

    /// Only people can do it. Before a phone is unlocked for the first time an app may not read what it has stored, so the
    /// last of several rounds is after a restart.
    private func askForSleep(_ number: Int) {
        let count = times > 1 ? " (\(number) of \(times))" : ""
        let action =
            times > 1 && number == times
            ? "Restart the phone, leave it locked" : "Close the app (swipe it away), lock the phone"
        Console.write("\(action), and press Enter\(count). ", to: STDERR_FILENO)
        _ = readLine()
    }
}
