// SPDX-License-Identifier: MIT

internal import PushWakeTransport

extension EngineDesk {
    /// Handles one message of a peer at `now` (monotonic milliseconds): the one place that asks whether its sender still
    /// waits.
    ///
    /// A call that waited in the socket for too long went on without push, and a push for it would wake a phone for
    /// nothing. What a REGISTER says stays true.
    func handle(
        _ message: MessageReader, from peer: EnginePeer, now: Int64 = SystemClock.monotonicMilliseconds()
    ) {
        lookAtClock()
        switch message.kind {
        case .wake, .wait, .send:
            guard RequestDeadline(decoding: message).isPast(at: now) else { break }
            return drop(message, peer)
        case .register:
            guard RequestDeadline(decoding: message).isPast(at: now) else { break }
            return register(message, nil)
        case .progressed, .requestEnded, .requestContinues, .resume, .purrUser, .callEnded, .registered, .query,
            .subscribe, .stopWaiting, .reply, .failure, .result, .waitEvent, .verbs:
            break
        }
        carryOut(message, from: peer)
    }

    /// The refusal comes too late as well, but it shows the sender that the engine is back.
    private func drop(_ message: MessageReader, _ peer: EnginePeer) {
        statistics.wakesExpired += 1
        log(
            .debug,
            """
            no push \(EngineLog.names(EngineClient.text(.aor, in: message), EngineClient.text(.callID, in: message))): \
            its sender waited in vain and has given up
            """)
        fail(message, peer, "the request came too late")
    }
}
