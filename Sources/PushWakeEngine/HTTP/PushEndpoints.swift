// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// Pushes and wakes for programs of the operator: what `pushwake send` and the dialplan do, over HTTP.
struct PushEndpoints {
    /// Seconds that an answer may be waited for: HTTP gives up soon after.
    private static let longestWait: Int64 = 110

    let context: EngineContext
    let requests: RequestRunner
    let questions: EngineQuestions
    let waits: HTTPWaits

    var endpoints: [HTTPEndpoint] {
        [
            HTTPEndpoint(method: "POST", path: "/v1/send", audience: .operators) { send($0) },
            HTTPEndpoint(method: "POST", path: "/v1/wake", audience: .operators) { wake($0) },
        ]
    }

    // MARK: Send

    private func send(_ call: HTTPCall) {
        do throws(HTTPFields.Problem) {
            let fields = try HTTPFields(call.request)
            try fields.refuseUnknown(but: Self.sendFields)
            let event = try event(fields, fallback: .custom)
            let waits = try fields.flag("wait") ?? true
            let seconds = try fields.number("timeout", 1...Self.longestWait) ?? 30
            guard fields["aor"] != nil || fields["token"] != nil else {
                throw HTTPFields.Problem(status: 400, message: "to whom? give aor, or provider, app and token")
            }
            questions.ask(
                .send,
                { writer in
                    writer.put(.event, Int(event.rawValue))
                    writer.put(.waits, waits ? 1 : 0)
                    writer.put(.seconds, seconds)
                    Self.put(fields, &writer)
                },
                { reply in call.answer(Self.answer(reply, waits: waits)) })
        } catch {
            call.answer(.problem(error.status, error.message))
        }
    }

    /// What the engine takes as it comes.
    private static let sendTags: [(EngineProtocol.Tag, String)] = [
        (.aor, "aor"), (.provider, "provider"), (.app, "app"), (.token, "token"), (.pushType, "push_type"),
        (.environment, "environment"), (.service, "service"), (.callID, "call_id"), (.fromURI, "from"),
        (.fromDisplay, "from_name"), (.text, "text"), (.title, "title"),
    ]
    private static let sendFields = Set(
        sendTags.map(\.1) + PushParameterName.givenByHand.map(\.field) + ["event", "wait", "timeout"])
    private static let wakeFields: Set = [
        "aor", "event", "timeout", "call_id", "from", "from_name", "to", "text",
    ]

    private static func put(_ fields: HTTPFields, _ writer: inout MessageWriter) {
        for (tag, name) in sendTags { writer.put(tag, fields[name] ?? "") }
        for (field, attribute) in PushParameterName.givenByHand {
            guard let value = fields[field] else { continue }
            writer.put(.attributeName, attribute.rawValue)
            writer.put(.attributeValue, value)
        }
    }

    private static func answer(_ reply: EngineQuestions.Reply, waits: Bool) -> ServedAnswer {
        if let problem = reply.problem { return problem }
        guard case .answer(let message) = reply else { return .problem(500, "no answer") }
        return .json(waits ? 200 : 202) { writer in
            writer.name("pushed")
            writer.integer(EngineClient.number(.pushed, in: message))
            guard waits else { return }
            writer.name("results")
            EngineQuestions.write(EngineClient.rows(of: message), &writer)
        }
    }

    private func event(_ fields: HTTPFields, fallback: PushEvent) throws(HTTPFields.Problem) -> PushEvent {
        guard let name = fields["event"] else { return fallback }
        guard let event = PushEvent(name: name) else {
            throw HTTPFields.Problem(status: 400, message: "event: write one of \(PushEvent.names)")
        }
        return event
    }

    // MARK: Wake

    /// Pushes to a user's phones and waits for the first that registers.
    private func wake(_ call: HTTPCall) {
        do throws(HTTPFields.Problem) {
            let fields = try HTTPFields(call.request)
            try fields.refuseUnknown(but: Self.wakeFields)
            let aor = try fields.required("aor")
            let event = try event(fields, fallback: .call)
            let usual = min(context.settings.integer(.wakeTimeout), Self.longestWait)
            let seconds = try fields.number("timeout", 1...Self.longestWait) ?? usual
            let callID = fields["call_id"] ?? context.makeCallID()
            let wait = waits.begin(requests, context.loop, call)
            questions.send(.wait, from: wait.peer) { writer in
                writer.put(.event, Int(event.rawValue))
                writer.put(.aor, aor)
                writer.put(.callID, callID)
                writer.put(.seconds, seconds)
                writer.put(.fromURI, fields["from"] ?? "")
                writer.put(.fromDisplay, fields["from_name"] ?? "")
                writer.put(.toURI, fields["to"] ?? "")
                writer.put(.text, fields["text"] ?? "")
                writer.put(.withoutContacts, 1)
            }
        } catch {
            call.answer(.problem(error.status, error.message))
        }
    }
}

/// The requests of HTTP that wait for a phone.
final class HTTPWaits {
    private var waits: [ObjectIdentifier: HTTPWait] = [:]

    fileprivate func begin(_ requests: RequestRunner, _ loop: Loop, _ call: HTTPCall) -> HTTPWait {
        let wait = HTTPWait(requests, loop, call)
        wait.onEnd = { [weak self] wait in self?.waits[ObjectIdentifier(wait)] = nil }
        waits[ObjectIdentifier(wait)] = wait
        return wait
    }

    /// The engine ends, and nobody waits for its successor.
    func endAll() {
        for wait in waits.values { wait.engineEnds() }
    }
}

/// A request of HTTP that waits for a phone.
private final class HTTPWait {
    private let requests: RequestRunner
    private let loop: Loop
    private let call: HTTPCall
    private let beganAt = SystemClock.monotonicMilliseconds()
    private var isDone = false
    var onEnd: ((HTTPWait) -> Void)?
    private(set) lazy var peer = InnerPeer { [self] message in take(message) }

    init(_ requests: RequestRunner, _ loop: Loop, _ call: HTTPCall) {
        (self.requests, self.loop, self.call) = (requests, loop, call)
    }

    func engineEnds() {
        if !isDone { finish(503, "failed", reason: "the engine ends; ask again") }
    }

    private func take(_ message: MessageReader) {
        guard !isDone else { return }
        switch message.kind {
        case .waitEvent: hear(message)
        case .reply:
            if EngineClient.number(.bindings, in: message) == 0 {
                finish(404, "no-binding", reason: "the user has no push binding")
            } else if EngineClient.number(.awake, in: message) > 0 {
                finish(200, "awake")
            }
        case .failure: finish(503, "failed", reason: EngineClient.text(.message, in: message))
        default: break
        }
    }

    private func hear(_ message: MessageReader) {
        switch WaitKind(rawValue: Int(truncatingIfNeeded: EngineClient.number(.kind, in: message))) {
        case .registered: finish(200, "woken", contact: EngineClient.text(.contactURI, in: message))
        case .timedOut: finish(200, "timed-out")
        case .failed, nil: finish(200, "failed", reason: EngineClient.text(.reason, in: message))
        }
    }

    private func finish(_ status: Int, _ word: String, contact: String = "", reason: String = "") {
        isDone = true
        onEnd?(self)
        let time = SystemClock.monotonicMilliseconds() - beganAt
        call.answer(
            .json(status) { writer in
                writer.name("status")
                writer.string(word)
                writer.name("ms")
                writer.integer(time)
                for (name, value) in [("contact", contact), ("reason", reason)] where !value.isEmpty {
                    writer.name(name)
                    writer.string(value)
                }
            })
        // ORDER: the engine is in the middle of its list of waiters; it must not change under it.
        loop.atEndOfTurn { [requests, peer] in
            requests.stopWaiting(peer)
            peer.end()
        }
    }
}
