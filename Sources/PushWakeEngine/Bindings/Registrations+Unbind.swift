// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// What a REGISTER takes away.
extension Registrations {
    /// Removes what the phone no longer wants: a token of null always, an un-REGISTER when the settings say so.
    func unbind(
        _ registration: Registration, in store: any BindingStore, _ now: Int64
    ) throws(StoreError) -> [Binding] {
        var removed = try unbindSilent(registration, in: store, now)
        for unbinding in registration.unbindings {
            let device = BindingSelector.device(
                instance: unbinding.instance, contact: unbinding.contact, callID: unbinding.callID)
            var gone = try store.remove(device, of: registration.aor, reason: "unbound by the phone", now: now)
            // A phone without instance that comes back with another port and Call-ID can only mean what it had before.
            if gone.isEmpty, unbinding.instance.isEmpty, !nullTokenPhones.has(registration) {
                gone = try store.remove(.nameless, of: registration.aor, reason: "unbound by the phone", now: now)
            }
            removed += gone
        }
        guard context.settings.text(.unregisterPolicy) == "remove" else {
            try endRegistrations(registration, in: store, now)
            return removed
        }
        for leaving in leaving(registration) {
            removed += try store.remove(leaving, of: registration.aor, reason: "unregistered", now: now)
        }
        return removed
    }

    /// A phone that unregisters and stays bound can be woken, but nobody asks it to register again (RFC 8599, 5.5).
    private func endRegistrations(_ registration: Registration, in store: any BindingStore, _ now: Int64)
        throws(StoreError)
    {
        for leaving in leaving(registration) {
            try store.endRegistrations(leaving, of: registration.aor, now: now)
        }
    }

    /// What a phone un-REGISTERs. Its Contact counts: that may be an address that it has another one for (RFC 8599, 4.1).
    private func leaving(_ registration: Registration) -> [BindingSelector] {
        if registration.isWildcard { return registration.expires == 0 ? [.all] : [] }
        guard registration.contacts.contains(where: { registration.isRemoval($0) }) else { return [] }
        return registration.contacts.filter { registration.isRemoval($0) }.map { contact in
            .address(instance: contact.instance, contact: contact.uri, callID: registration.callID)
        }
    }

    /// A phone that stays registered without push loses its binding where the settings say so; how many went.
    private func unbindSilent(
        _ registration: Registration, in store: any BindingStore, _ now: Int64
    ) throws(StoreError) -> [Binding] {
        var removed: [Binding] = []
        for contact in registration.contacts where !registration.isRemoval(contact) {
            let reason: String
            switch contact.push {
            case .none where context.settings.flag(.removeAtNopn): reason = "registered without push"
            case .query where context.settings.flag(.removeAtNoprid): reason = "registered without pn-prid"
            default: continue
            }
            let device = BindingSelector.silent(
                instance: contact.instance, contact: contact.uri, callID: registration.callID,
                flowNumber: contact.boundFlow)
            removed += try store.remove(device, of: registration.aor, reason: reason, now: now)
        }
        return removed
    }
}

/// Tokens that come in for a user while another one has them: a phone with two accounts, one that has changed its user, or
/// somebody who has learned the token of another. Nobody can tell these apart, so by default both are pushed.
extension Registrations {
    /// Looks who else has tokens that are new to their user. A store that nodes share has no other way to find users by their
    /// tokens than to be told, of those in `due` as well.
    func noteClaims(_ new: [Binding], alsoNoting due: [Binding]) {
        guard !new.isEmpty || !due.isEmpty else { return }
        guard let shared = store.shared else {
            for binding in new { context.loop.take(unclaimed.add(binding), self) { $0.lookForClaims() } }
            // A push for the first user in the meantime would ring the second.
            if takesTokens { lookForClaims() }
            return
        }
        for binding in due { shared.noteUser(of: binding) { _ in } }
        for binding in new {
            shared.noteUser(of: binding) { [weak self] other in
                if let other { self?.claim(binding, of: other) }
            }
        }
    }

    /// Looks who else has the tokens that are new to their users.
    func lookForClaims() {
        let bindings = unclaimed.take()
        guard !bindings.isEmpty else { return }
        switch store.askOwn({ (store) throws(StoreError) in try store.users(withTokensOf: bindings) }) {
        case .success(let others):
            for (index, binding) in bindings.enumerated() where !others[index].isEmpty {
                // Who has registered it later has claimed it, not the other way round.
                let later = bindings[(index + 1)...].filter { $0.hasSameToken(as: binding) }.map(\.aor)
                for other in others[index] where !later.contains(where: other.isSameBytes) { claim(binding, of: other) }
            }
        case .failure(let error): store.logFailure("who else has tokens could not be read: \(error)")
        }
    }

    private var takesTokens: Bool { context.settings.text(.oneAoRPerToken) == "always" }

    private func claim(_ binding: Binding, of other: String) {
        let now = SystemClock.wallSeconds()
        let user = PrintableText.logValue(binding.aor)
        let isTaken = takesTokens
        store.ask(about: other) { (store) throws(StoreError) in
            let claimed = try store.bindings(of: other, now: now).filter { $0.hasSameToken(as: binding) }
            guard isTaken else { return claimed }
            var taken: [Binding] = []
            for old in claimed {
                let token = BindingSelector.token(provider: old.provider, app: old.app, token: old.token)
                taken += try store.remove(token, of: other, reason: "moved to \(user)", now: now)
            }
            return taken
        } then: { [self] (result: Result<[Binding], StoreError>) in
            let name = PrintableText.logValue(other)
            switch result {
            case .success(let claimed) where claimed.isEmpty: break
            case .success(let taken) where isTaken:
                context.statistics.countRemoval(.moved, taken.count)
                requests.dispatch(requests.unbound(taken, of: other))
                context.log(.notice, "binding removed aor=\(name): its phone has registered as \(user)")
            case .success(let claimed):
                context.statistics.claimed += claimed.count
                claimLines(
                    .notice, "aor=\(user) has registered with the push token of aor=\(name); both are pushed"
                )
            case .failure(let error):
                store.logFailure("aor=\(user) has a token of aor=\(name), whose bindings cannot be read: \(error)")
            }
        }
    }
}
