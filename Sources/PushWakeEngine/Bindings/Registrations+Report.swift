// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Tokens that come in without a REGISTER.
extension Registrations {
    /// Days for which a reported token is kept where `persist` ties bindings to registrations, which it has none of.
    private static let reportedDays: Int64 = 30

    /// Stores the bindings of one device of a user; says what is not set up here. Those of a provider that is not are
    /// left out.
    func report(
        _ bindings: [Binding], of aor: String,
        then: @escaping (Result<(stored: Int, problem: String), StoreError>) -> Void
    ) {
        let now = SystemClock.wallSeconds()
        let persist = context.settings.integer(.persist)
        let lifetime = (persist > 0 ? persist : Self.reportedDays) * 86_400
        let usable = bindings.filter(context.policy.supports).map { binding in
            var kept = binding
            (kept.aor, kept.registeredAt, kept.expiresAt, kept.forgetAt) = (aor, now, now, now + lifetime)
            return kept
        }
        guard let first = usable.first else {
            return then(
                .success((0, bindings.first.flatMap { context.policy.objection(to: $0) } ?? "there is no token")))
        }
        store.ask(about: aor) { (store) throws(StoreError) in
            _ = try store.register(usable, now: now)
        } then: { [self] (result: Result<Void, StoreError>) in
            if case .failure(let error) = result {
                store.logFailure("tokens reported could not be stored aor=\(PrintableText.logValue(aor)): \(error)")
                return then(.failure(error))
            }
            for binding in usable { pushes.release(binding) }
            context.statistics.stored += usable.count
            context.log(
                .info,
                "tokens reported aor=\(PrintableText.logValue(aor)) provider=\(first.provider.name) count=\(usable.count)"
            )
            then(.success((usable.count, "")))
        }
    }

    /// Removes exactly these tokens of a user; one that another account of the device has now stays. `then` hears how
    /// many went.
    func remove(
        _ tokens: [Binding], of aor: String, reason: String, then: @escaping (Result<Int, StoreError>) -> Void
    ) {
        let now = SystemClock.wallSeconds()
        store.ask(about: aor) { (store) throws(StoreError) in
            try Self.remove(tokens, of: aor, in: store, reason, now)
        } then: { [self] (result: Result<Int, StoreError>) in
            if case .success(let removed) = result { context.statistics.countRemoval(.unregistered, removed) }
            then(result)
        }
    }

    /// An Acrobits tuple names its account on the device by the selector; other tokens name their device, if anything.
    private static func isSameAccount(_ known: Binding, as token: Binding) -> Bool {
        let selector = token.attributes[.selector] ?? ""
        if token.provider == .acrobits, !selector.isEmpty { return known.attributes[.selector] == selector }
        return token.instance.isEmpty || known.instance == token.instance
    }

    private static func remove(
        _ tokens: [Binding], of aor: String, in store: any BindingStore, _ reason: String, _ now: Int64
    ) throws(StoreError) -> Int {
        var removed = 0
        for token in tokens {
            let known = try store.bindings(of: aor, now: now).contains {
                $0.provider == token.provider && $0.app == token.app && $0.token == token.token
                    && isSameAccount($0, as: token)
            }
            guard known else { continue }
            let selector = BindingSelector.token(provider: token.provider, app: token.app, token: token.token)
            removed += try store.remove(selector, of: aor, reason: reason, now: now).count
        }
        return removed
    }
}
