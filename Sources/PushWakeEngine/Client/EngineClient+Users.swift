// SPDX-License-Identifier: MIT

internal import PushWakeTransport

extension EngineClient {
    /// Whether a user may have push bindings: false only for one who has none. Asks nobody and never waits.
    public func mayHaveBindings(_ aor: Span<UInt8>) -> Bool {
        users.mayHold(aor, now: SystemClock.coarseMilliseconds())
    }
}
