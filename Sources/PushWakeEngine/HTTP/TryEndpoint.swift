// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// `POST /try`: runs `pushwake try` for a user of the page, and passes on what it prints as it prints it.
///
/// One at a time and few in a minute: each makes a real phone ring. A page of another site cannot ask for it, as for
/// nothing that changes something.
final class TryEndpoint: LoopSource {
    /// Trials in a minute.
    private static let mostInMinute = 6
    /// Seconds within which the phone must ring.
    private static let within = "30"
    /// Milliseconds after which a trial is ended, and between two looks whether it has.
    private static let longest: Int64 = 120_000
    private static let pause: Int64 = 100

    private let context: EngineContext
    private let loop: Loop
    private let log: EngineLog
    private var budget = LineBudget(most: TryEndpoint.mostInMinute, period: 60_000)
    private var trial: (child: ChildProcess, stream: AnswerStream, began: Int64)?

    init(_ context: EngineContext, loop: Loop, log: EngineLog) {
        (self.context, self.loop, self.log) = (context, loop, log)
    }

    var endpoint: HTTPEndpoint {
        HTTPEndpoint(method: "POST", path: "/try", audience: .operators, changes: true) { [weak self] in self?.take($0)
        }
    }

    /// Names that fit a SIP URI as they stand.
    static func canTry(_ user: String) -> Bool {
        !user.isEmpty && user.utf8.count < 256
            && user.utf8.allSatisfy {
                $0 > 0x20 && $0 < 0x7F && ![0x22, 0x2C, 0x3A, 0x3B, 0x3C, 0x3E, 0x3F].contains($0)
            }
    }

    /// The engine ends.
    func end() {
        guard let trial else { return }
        trial.child.stop(milliseconds: 0)
        finish("the engine ends")
    }

    private func take(_ call: HTTPCall) {
        guard call.request.mediaType == "application/x-www-form-urlencoded" else {
            return call.answer(.problem(415, "send application/x-www-form-urlencoded"))
        }
        guard let user = (try? HTTPFields(call.request))?["user"], Self.canTry(user) else {
            return call.answer(.problem(400, "user: write a user as the registrar has it"))
        }
        guard trial == nil else { return call.answer(Self.later("another trial is under way", seconds: 30)) }
        guard case .write = budget.admit(now: loop.now) else {
            return call.answer(Self.later("there were \(Self.mostInMinute) trials within a minute", seconds: 60))
        }
        let arguments = [
            "try", "--socket", context.settings.text(.engineSocket), "--proxy", place, "--within", Self.within,
            "--", user,
        ]
        let child: ChildProcess
        do throws(ChildProcess.Failure) {
            child = try ChildProcess.start(
                context.settings.text(.enginePath), arguments: arguments, takesOutput: true)
        } catch {
            return call.answer(.problem(503, error.message))
        }
        child.closeInput()
        let answer = ServedAnswer(
            200, type: "text/plain; charset=utf-8", headers: [.init(name: "x-accel-buffering", value: "no")])
        guard let stream = call.slot.open(answer) else { return child.stop(milliseconds: 0) }
        log(.notice, "the page tries \(PrintableText.logValue(user))")
        trial = (child, stream, loop.now)
        do throws(SystemError) { try loop.watch(child.errorDescriptor, for: .readable, self) } catch {
            child.stop(milliseconds: 0)
            return finish("\(error)")
        }
        look()
    }

    /// Where the PBX is: what other nodes call it, or this machine.
    private var place: String {
        let uri = context.settings.text(.nodeURI)
        guard let colon = uri.firstIndex(of: ":") else { return "127.0.0.1" }
        return String(uri[uri.index(after: colon)...].prefix { $0 != ";" })
    }

    private static func later(_ text: String, seconds: Int) -> ServedAnswer {
        var answer = ServedAnswer.problem(429, text)
        answer.headers.append(.init(name: "retry-after", value: String(seconds)))
        return answer
    }

    func ready(_ readiness: Loop.Readiness) {
        guard let trial else { return }
        for line in trial.child.takeLines() { trial.stream.send(Array("\(line)\n".utf8)) }
    }

    private func look() {
        loop.schedule(after: Self.pause) { [weak self] in
            guard let self, let trial else { return }
            if let end = trial.child.takeEnd() {
                ready(.readable)
                return finish(
                    end == "exit code 0" || end.hasPrefix("exit code 1") || end.hasPrefix("exit code 2") ? "" : end)
            }
            // Whoever no longer reads does not look at the phone.
            if trial.stream.state == .gone || loop.now - trial.began > Self.longest { trial.child.end() }
            look()
        }
    }

    private func finish(_ text: String) {
        guard let trial else { return }
        loop.unwatch(trial.child.errorDescriptor)
        if !text.isEmpty { trial.stream.send(Array("\(text)\n".utf8)) }
        trial.stream.end()
        self.trial = nil
    }
}
