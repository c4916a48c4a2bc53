// SPDX-License-Identifier: MIT

public import PushWakeCore
internal import PushWakeSystem

/// One channel in a process of its own: AGI on two descriptors, the engine behind its socket.
///
/// Asterisk sends SIGHUP when the caller hangs up. That ends the process, which closes its connection, which
/// tells the engine: nothing needs to be caught.
public final class AGIProcess {
    private let client: EngineClient
    private let input: Int32
    private let output: Int32
    private var session: AGISession
    private var received: [UInt8] = []
    private var isOver = false
    private var isFollowing = false
    /// Milliseconds, monotonic: an engine that has not ended the wait by then never will.
    private var deadline = Int64.max

    /// Milliseconds that an engine's last word may take.
    private static let grace: Int64 = 1500
    /// Milliseconds that an engine may take to come back, and between two questions whether it has.
    private static let restart: Int64 = 5000
    private static let pause: Int32 = 100

    /// `arguments` are those of the script, such as `wake 100 40`.
    public init(settings: Settings, arguments: [String], input: Int32 = 0, output: Int32 = 1) {
        client = EngineClient(settings: settings)
        session = AGISession(arguments: arguments, host: SystemName.host)
        self.input = input
        self.output = output
    }

    /// Runs until the dialplan goes on.
    public func run() {
        Signals.endOnHangUp()
        while !isOver {
            let waiting = isFollowing ? client.descriptor : -1
            let ready = Descriptor.waitReadable(input, waiting, milliseconds: isFollowing ? timeLeft : -1)
            if ready.second { follow() }
            if ready.first && !isOver { readLines() }
            if isFollowing && !isOver && timeLeft == 0 { giveUp() }
        }
    }

    private var timeLeft: Int32 { Int32(clamping: max(0, deadline &- Moment.now())) }

    /// The engine hangs.
    private func giveUp() {
        isFollowing = false
        client.disconnect()
        perform(session.engineLost(Self.text(.timeout)))
    }

    private func readLines() {
        guard let bytes = Descriptor.read(input), !bytes.isEmpty else { return perform(session.ended()) }
        received += bytes
        while let end = received.firstIndex(of: 0x0A), !isOver {
            let line = String(decoding: received[..<end], as: UTF8.self)
            received.removeFirst(end + 1)
            perform(session.line(line, now: Moment.now()))
        }
        if received.count > 65_536 { perform(session.ended()) }
    }

    private func follow() {
        do throws(ClientError) {
            while session.isWaiting, let message = try client.nextEvent() {
                guard message.kind == .waitEvent,
                    let kind = WaitKind(rawValue: Int(truncatingIfNeeded: EngineClient.number(.kind, in: message)))
                else { continue }
                let event = WaitEvent(
                    kind: kind, contact: EngineClient.text(.contactURI, in: message),
                    reason: EngineClient.text(.reason, in: message))
                perform(session.received(event, now: Moment.now()))
            }
        } catch {
            goOn()
        }
    }

    /// The engine that had taken the wake is gone: the next one is asked, as hosts do that hold calls.
    private func goOn() {
        isFollowing = false
        client.disconnect()
        let until = Moment.now() + Self.restart
        while let message = session.wakeAgain(now: Moment.now()), Moment.now() < until {
            if Descriptor.waitReadable(input, -1, milliseconds: Self.pause).first {
                readLines()
                continue
            }
            if let answer = try? ask(message) {
                isFollowing = true
                return perform(session.woke(answer))
            }
        }
        perform(session.engineLost("the engine is gone"))
    }

    private func perform(_ actions: [AGISession.Action]) {
        for action in actions {
            switch action {
            case .say(let line): Descriptor.write(Array((line + "\n").utf8), to: output)
            case .wake(let message): wake(message)
            case .send(let event, let aor, let text, let callID, let fromURI, let fromDisplay):
                client.begin(.send)
                client.put(.event, Int64(event.rawValue))
                client.put(.aor, aor)
                client.put(.callID, callID)
                client.put(.fromURI, fromURI)
                client.put(.fromDisplay, fromDisplay)
                client.put(.text, text)
                send()
            case .listBindings(let aor): listBindings(aor)
            case .hangUp:
                isFollowing = false
                client.disconnect()
            case .close: isOver = true
            }
        }
        if isFollowing && !session.isWaiting { stopWaiting() }
    }

    /// Says that the call goes on: the end of this process would be a hang-up, and phones that still sleep
    /// would be told so.
    private func stopWaiting() {
        isFollowing = false
        client.begin(.stopWaiting)
        do throws(ClientError) {
            _ = try client.call()
        } catch {
            // Without an engine nobody is told anything.
        }
    }

    private func wake(_ message: WakeMessage) {
        do throws(ClientError) {
            let answer = try ask(message)
            isFollowing = true
            perform(session.woke(answer))
        } catch {
            perform(session.engineLost(Self.text(error)))
        }
    }

    private func ask(_ message: WakeMessage) throws(ClientError) -> WakeAnswer {
        message.encode(into: client, .wait)
        let reply = try client.call(milliseconds: 5000)
        let limit = EngineClient.number(.limit, in: reply)
        deadline = limit > 0 ? Moment.now() &+ limit &+ Self.grace : .max
        var answer = WakeAnswer(contacts: 0)
        answer.bindings = Int(truncatingIfNeeded: EngineClient.number(.bindings, in: reply))
        answer.pushed = Int(truncatingIfNeeded: EngineClient.number(.pushed, in: reply))
        answer.awake = Int(truncatingIfNeeded: EngineClient.number(.awake, in: reply))
        return answer
    }

    private func send() {
        do throws(ClientError) {
            let reply = try client.call(milliseconds: 5000)
            perform(session.sent(EngineClient.number(.pushed, in: reply)))
        } catch {
            switch error {
            case .notFound(let reason): perform(session.notSent(because: reason, isMissing: true))
            case .refused(let reason): perform(session.notSent(because: reason, isMissing: false))
            case .unavailable, .timeout, .tooLarge: perform(session.engineLost(Self.text(error)))
            }
        }
    }

    private func listBindings(_ aor: String) {
        var providers: [String] = []
        do throws(ClientError) {
            _ = try client.bindings(of: aor) { row in
                providers.append(row.first { $0.name == "provider" }?.shown ?? "")
            }
            perform(session.listed(providers))
        } catch {
            perform(session.engineLost(Self.text(error)))
        }
    }

    private static func text(_ error: ClientError) -> String {
        switch error {
        case .unavailable(let text), .refused(let text), .notFound(let text): text
        case .timeout: "the engine did not answer in time"
        case .tooLarge: "the request is too long"
        }
    }
}
