// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Tokens that come in without a REGISTER.
extension EngineCore {
    /// Days for which a reported token is kept where `persist` ties bindings to registrations, which it has none of.
    private static let reportedDays: Int64 = 30

    /// Stores the bindings of one device of a user; says what is not set up here. Those of a provider that is not are
    /// left out.
    func report(_ bindings: [Binding], of aor: String) throws(StoreError) -> (stored: Int, problem: String) {
        let now = SystemClock.wallSeconds()
        let persist = settings.integer(.persist)
        let lifetime = (persist > 0 ? persist : Self.reportedDays) * 86_400
        let usable = bindings.filter(policy.supports).map { binding in
            var kept = binding
            (kept.aor, kept.registeredAt, kept.expiresAt, kept.forgetAt) = (aor, now, now, now + lifetime)
            return kept
        }
        guard let first = usable.first else {
            let name = bindings.first?.providerName ?? ""
            return (0, "pushes through \(name) are not set up here")
        }
        _ = try store.register(usable, now: now)
        for binding in usable { dedupe.release(binding) }
        statistics.stored += usable.count
        log(
            .info,
            "tokens reported aor=\(PrintableText.logValue(aor)) provider=\(first.provider.name) count=\(usable.count)")
        return (usable.count, "")
    }

    /// Removes exactly these tokens of a user; one that another account of the device has now stays. Returns how many
    /// went.
    func remove(_ tokens: [Binding], of aor: String, reason: String) throws(StoreError) -> Int {
        let now = SystemClock.wallSeconds()
        var removed = 0
        for token in tokens {
            let known = try store.bindings(of: aor, now: now).contains {
                $0.provider == token.provider && $0.app == token.app && $0.token == token.token
                    && (token.instance.isEmpty || $0.instance == token.instance)
            }
            guard known else { continue }
            let selector = BindingSelector.token(provider: token.provider, app: token.app, token: token.token)
            removed += try store.remove(selector, of: aor, reason: reason, now: now).count
        }
        statistics.unbound += removed
        return removed
    }
}
