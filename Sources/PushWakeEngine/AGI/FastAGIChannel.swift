// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// One call in FastAGI.
final class FastAGIChannel: WakeWaiter {
    private let connection: LineConnection
    private let requests: RequestRunner
    private let manualPushes: ManualPushes
    private let store: StoreAccess
    private let loop: Loop
    private var session: AGISession
    var wait: WakeKey?
    var waitTimer: Loop.TimerID?
    /// Milliseconds that Asterisk has for an answer.
    private static let timeout: Int64 = 10_000
    private var answerTimer: Loop.TimerID?
    /// Runs when it has given none.
    var onSilence: (() -> Void)?

    init(_ connection: LineConnection, _ core: EngineCore, token: String) {
        session = AGISession(arguments: nil, token: token, host: SystemName.host)
        self.connection = connection
        (requests, manualPushes, store) = (core.requests, core.manualPushes, core.store)
        loop = core.context.loop
    }

    /// Asterisk introduces a channel at once: whoever does not is turned away.
    func isIntroduced() -> Bool {
        guard session.isIntroducing else { return true }
        connection.close()
        return false
    }

    func line(_ text: String) { perform(session.line(text, now: Moment.now())) }

    func tell(_ event: WaitEvent) {
        let actions = session.received(event, now: Moment.now())
        // ORDER: the core is in the middle of its list of waiters; it must not change under it.
        loop.atEndOfTurn { [weak self] in self?.perform(actions) }
    }

    func connectionClosed() { perform(session.ended()) }

    private func perform(_ actions: [AGISession.Action]) {
        for action in actions {
            switch action {
            case .say(let line):
                if !session.isWaiting { requests.stopWaiting(self) }
                connection.send(line)
            case .wake(let message): wake(message)
            case .send(let event, let aor, let text, let callID, let fromURI, let fromDisplay):
                let content = PushContent(
                    event: event, callID: callID, fromURI: fromURI, fromDisplay: fromDisplay, toURI: aor, text: text)
                manualPushes.send(content, to: aor) { [weak self] result in
                    guard let self else { return }
                    switch result {
                    case .success(let count): perform(session.sent(Int64(count)))
                    case .failure(let why): perform(session.notSent(because: why.text, isMissing: why.isMissing))
                    }
                }
            case .listBindings(let aor): listBindings(aor)
            case .hangUp:
                if let key = wait {
                    requests.forget(self)
                    requests.endCall(aor: key.aor, callID: key.callID, .cancelled)
                }
            case .close: connection.close()
            }
        }
        watchAnswer()
    }

    /// Who is alive and says nothing more must not keep a descriptor.
    private func watchAnswer() {
        if let answerTimer { loop.cancel(answerTimer) }
        answerTimer = nil
        guard session.expectsAnswer else { return }
        answerTimer = loop.schedule(after: Self.timeout) { [weak self] in
            self?.answerTimer = nil
            self?.connection.close()
            self?.onSilence?()
        }
    }

    private func wake(_ message: WakeMessage) {
        store.lookAtClock()
        wait = message.key
        requests.wake(message) { [weak self] result in
            // Who has hung up meanwhile has ended it.
            guard let self, session.isWaiting else { return }
            switch result {
            case .success(let answer):
                let actions = session.woke(answer)
                if actions.isEmpty { requests.wait(for: message, self) }
                perform(actions)
            case .failure:
                wait = nil
                perform(session.engineLost("the store cannot be read"))
            }
        }
    }

    private func listBindings(_ aor: String) {
        store.lookAtClock()
        store.ask(about: aor) { (store) throws(StoreError) in
            try store.bindings(of: aor, now: SystemClock.wallSeconds())
        } then: { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let bindings): perform(session.listed(bindings.map(\.provider.name)))
            case .failure: perform(session.engineLost("the store cannot be read"))
            }
        }
    }
}
