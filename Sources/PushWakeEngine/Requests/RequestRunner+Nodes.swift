// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Phones that register at another node while requests are held here.
extension RequestRunner {
    /// Seconds for which a phone that registered elsewhere counts as there when a request comes: what was announced then
    /// was announced to nobody. Stored times are whole seconds.
    private static let freshWindow: Int64 = 1

    /// Another node tells of a REGISTER.
    func received(_ announcement: [UInt8]) {
        guard let notice = RegistrationNotice(announcement) else {
            return context.log(
                .warning,
                "another node sends announcements that this release cannot read; install one release on all nodes")
        }
        guard !calls.requests(for: notice.aor).isEmpty else { return }
        context.statistics.registeredElsewhere += 1
        for contact in notice.contacts {
            if contact.isRemoval {
                dispatch(unregistered(uri: contact.uri, aor: notice.aor, domain: notice.domain))
            } else {
                dispatch(registeredElsewhere(contact, aor: notice.aor, domain: notice.domain))
            }
        }
    }

    /// Milliseconds between two looks at what a shared store could not be asked, or took no note of.
    private static let lookPause: Int64 = 250

    /// Looks whether phones for which requests are held have registered elsewhere, as announcements may have been missed,
    /// and lets other nodes know of the requests: the server may have forgotten that.
    func recheckOtherNodes() {
        var users: Set<UserKey> = []
        for request in calls.live(where: { $0.machine.isWaiting }) { users.insert(UserKey(request.aor)) }
        for user in users { recheckOtherNodes(at: user.aor) }
        retryPendingRequests()
    }

    /// Soon looks at this user too, and at all that the store has yet to answer.
    func recheckSoon(at aor: String? = nil) {
        if let aor { usersToCheck.insert(UserKey(aor)) }
        guard !isRecheckDue else { return }
        isRecheckDue = true
        context.loop.schedule(after: Self.lookPause) { [weak self] in
            guard let self else { return }
            isRecheckDue = false
            let users = usersToCheck
            usersToCheck = []
            for user in users { recheckOtherNodes(at: user.aor) }
            retryPendingRequests()
        }
    }

    private func recheckOtherNodes(at aor: String) {
        let now = SystemClock.monotonicMilliseconds()
        let end = calls.requests(for: aor).filter { $0.machine.end == nil && $0.machine.isWaiting }
            .map { $0.machine.endsAt }.max()
        guard let shared = store.shared, let end else { return }
        shared.holdAgain(
            for: aor, seconds: max(0, end - now) / 1000 + Self.retention / 1000, now: SystemClock.wallSeconds()
        ) { (store) throws(StoreError) in
            try store.bindings(of: aor, now: SystemClock.wallSeconds())
        } then: { [weak self] result, isKnown in
            guard let self else { return }
            switch result {
            case .success(let bindings):
                let now = SystemClock.monotonicMilliseconds()
                for request in calls.requests(for: aor) where request.machine.end == nil {
                    ringAtOtherNodes(bindings, request, within: request.age(now))
                }
                if !isKnown { recheckSoon(at: aor) }
            // What is damaged stays so.
            case .failure(.corrupt): break
            case .failure: recheckSoon(at: aor)
            }
        }
    }

    /// Reads the bindings of a user for a request that may be held. Where other nodes do not know of it, its user is looked
    /// at again and again.
    func hold<Answer>(
        for message: WakeMessage, _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>, HoldState) -> Void
    ) {
        guard let shared = store.shared else { return then(store.askOwn(work), HoldState()) }
        // Longer than the request is held: phones may come late.
        shared.hold(
            for: message.aor, claim: message.key.claim,
            seconds: context.holdSeconds(of: message) + Self.retention / 1000,
            now: SystemClock.wallSeconds(), work
        ) { [weak self] result, state in
            then(result, state)
            if case .success = result, !state.isKnown { self?.recheckSoon(at: message.aor) }
        }
    }

    /// Phones that have registered elsewhere at the moment when the request came ring where they are.
    func ringAtOtherNodes(_ bindings: [Binding], _ request: HeldRequest) {
        ringAtOtherNodes(bindings, request, within: 0)
    }

    /// Phones that have registered elsewhere within so many milliseconds ring where they are.
    func ringAtOtherNodes(_ bindings: [Binding], _ request: HeldRequest, within milliseconds: Int64) {
        for contact in contactsElsewhere(bindings, request, within: milliseconds) {
            dispatch(registeredElsewhere(contact, aor: request.aor, domain: request.message.domain))
        }
    }

    /// The same phones, for a request that is about to begin.
    func registrationsElsewhere(
        _ bindings: [Binding], _ request: HeldRequest, within milliseconds: Int64
    ) -> [CallRegistration] {
        contactsElsewhere(bindings, request, within: milliseconds).map { contact in
            note(contact, in: request)
            request.name(contact.uri, contact.shortKey)
            return Self.registration(of: contact)
        }
    }

    /// Phones that registered elsewhere within so many milliseconds, as far as the request does not know it.
    private func contactsElsewhere(
        _ bindings: [Binding], _ request: HeldRequest, within milliseconds: Int64
    ) -> [RegistrationNotice.Contact] {
        let now = SystemClock.wallSeconds()
        let here = NodeRoute(nodeURI: context.settings.text(.nodeURI))
        let window = 0...(milliseconds / 1000 + Self.freshWindow)
        return bindings.compactMap { binding in
            guard !binding.route.isEmpty, binding.expiresAt > now, window.contains(now &- binding.registeredAt),
                !here.isOwn(binding.route),
                !request.message.contacts.contains(where: { CallDevices.matches($0.known, binding) })
            else { return nil }
            let contact = RegistrationNotice.Contact(
                uri: binding.contact, instance: binding.instance,
                tokens: bindings.filter { $0.instance == binding.instance && $0.contact == binding.contact }.map(
                    \.token),
                registrationID: binding.callID, route: binding.route, registeredAt: binding.registeredAt)
            // An announcement has another key for it.
            let bare = Binding.withoutPushParameters(binding.contact)
            let isKnown = request.elsewhere.values.contains {
                $0.uri == bare && $0.route == binding.route && $0.registeredAt >= binding.registeredAt
            }
            return isKnown ? nil : contact
        }
    }

    private func registeredElsewhere(_ contact: RegistrationNotice.Contact, aor: String, domain: String) -> [HostVerb] {
        for request in calls.requests(for: aor) { note(contact, in: request) }
        return registered(Self.registration(of: contact), uri: contact.uri, aor: aor, domain: domain)
    }

    /// The request knows from now on where the contact is.
    private func note(_ contact: RegistrationNotice.Contact, in request: HeldRequest) {
        request.elsewhere[contact.shortKey] = ElsewhereContact(
            uri: Binding.withoutPushParameters(contact.uri), route: contact.route, flow: contact.flow,
            registeredAt: contact.registeredAt ?? SystemClock.wallSeconds())
        let node = NodeRoute.node(of: contact.route)
        // Behind a proxy of its own the phone is reached without its node.
        context.traces.note(
            request.trace, .announced(node: node.isEmpty ? "another node" : node),
            now: SystemClock.monotonicMilliseconds())
    }

    private static func registration(of contact: RegistrationNotice.Contact) -> CallRegistration {
        let known = CallContact(
            key: contact.shortKey, address: contact.uri, flow: contact.flow,
            registrationID: contact.registrationID, flowNumber: contact.instance.isEmpty ? 0 : contact.flowNumber,
            isBehindProxy: !contact.route.isEmpty, isElsewhere: true)
        return CallRegistration(instance: contact.instance, tokens: contact.tokens, contact: known)
    }
}

/// Where a contact is that registered at another node.
struct ElsewhereContact: Equatable {
    /// Without push parameters.
    let uri: String
    /// By which it is reached from here; empty: directly.
    let route: String
    let flow: String
    /// Seconds since 1970: what is stored of it since then is known.
    let registeredAt: Int64
}

extension WakeKey {
    /// The same on all nodes, and short (FNV-1a, 64 bits): two requests of one user that share it would share a push.
    var claim: String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in "\(callID)\n\(cseq)\n\(event.rawValue)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(hash, radix: 36)
    }
}
