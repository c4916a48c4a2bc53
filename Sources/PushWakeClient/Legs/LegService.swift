// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

/// Waiting legs with a clock, and with the connection of a supervisor. One thread uses it, that of the supervisor.
///
/// The host may answer an order inside of it: what comes of that is done after what is being done.
package final class LegService {
    /// Messages to an engine that does not read; more are lost, as those of every client.
    private static let mostUnsent = 10_000
    /// Milliseconds after which they are tried again.
    private static let retryPause: Int64 = 20

    private var legs: WaitingLegs
    private let execute: (LegAction) -> Void
    private var send: ([UInt8]) -> Bool = { _ in false }
    private var waiting: [LegAction] = []
    private var isExecuting = false
    private var unsent: [[UInt8]] = []
    private var retryAt: Int64?

    /// `execute` does all but asking the engine.
    package init(_ policy: LegPolicy, execute: @escaping (LegAction) -> Void) {
        let now = SystemClock.monotonicMilliseconds()
        legs = WaitingLegs(policy, seed: UInt64.random(in: 0...UInt64.max), firstHandle: UInt64(clamping: now) &<< 20)
        self.execute = execute
    }

    /// Requests that wait or are out at a phone.
    package var count: Int { legs.count }

    /// Uses other settings for requests to come.
    package func take(_ policy: LegPolicy) { legs.take(policy) }

    /// Asks by this from now on; false: it was not sent.
    func follow(_ send: @escaping ([UInt8]) -> Bool) {
        engineLeft()
        self.send = send
    }

    /// Lets the legs hear of something, and does what comes of it.
    package func with(_ event: (inout WaitingLegs, _ now: Int64) -> [LegAction]) {
        waiting += event(&legs, SystemClock.monotonicMilliseconds())
        drain()
    }

    func engineCame(host: UInt64) { with { $0.engineCame(host: host, now: $1) } }

    func engineLeft() {
        unsent.removeAll()
        retryAt = nil
        with { $0.engineLeft(now: $1) }
    }

    func receive(_ message: MessageReader) {
        with { legs, now in
            var out: [LegAction] = []
            _ = legs.receive(message, now: now, &out)
            return out
        }
    }

    /// Milliseconds until `process()` must run; -1 for no limit.
    package func timeoutMilliseconds() -> Int32 {
        let next = min(legs.nextDeadline() ?? .max, retryAt ?? .max)
        return next == .max ? -1 : Int32(clamping: max(0, next &- SystemClock.monotonicMilliseconds()))
    }

    /// Does what is due.
    package func process() {
        if let at = retryAt, SystemClock.monotonicMilliseconds() >= at { flush() }
        with { $0.tick(now: $1) }
    }

    private func drain() {
        guard !isExecuting else { return }
        isExecuting = true
        defer { isExecuting = false }
        while !waiting.isEmpty {
            let actions = waiting
            waiting.removeAll(keepingCapacity: true)
            for action in actions {
                if case .ask(let message) = action { ask(message) } else { execute(action) }
            }
        }
    }

    private func ask(_ message: [UInt8]) {
        guard unsent.isEmpty, send(message) else {
            if unsent.count < Self.mostUnsent { unsent.append(message) }
            retryAt = retryAt ?? SystemClock.monotonicMilliseconds() &+ Self.retryPause
            return
        }
    }

    private func flush() {
        retryAt = nil
        let rest = unsent
        unsent.removeAll()
        for message in rest { ask(message) }
    }
}
