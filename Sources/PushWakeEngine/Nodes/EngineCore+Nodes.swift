// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Phones that register at another node while requests are held here.
extension EngineCore {
    /// Seconds for which a phone that registered elsewhere counts as there when a request comes: what was announced then
    /// was announced to nobody. Stored times are whole seconds.
    private static let freshWindow: Int64 = 1

    /// Another node tells of a REGISTER.
    func heard(_ announcement: [UInt8]) {
        guard let notice = RegistrationNotice(announcement) else {
            return log(
                .warning, "another node announces what this release cannot read; install one release on all nodes")
        }
        guard !calls.requests(for: notice.aor).isEmpty else { return }
        statistics.heardOfElsewhere += 1
        for contact in notice.contacts {
            if contact.isRemoval {
                dispatch(unregistered(uri: contact.uri, aor: notice.aor, domain: notice.domain))
            } else {
                dispatch(registeredElsewhere(contact, aor: notice.aor, domain: notice.domain))
            }
        }
    }

    /// Looks whether phones for which requests are held have registered elsewhere, as announcements may have been missed.
    func lookElsewhere() {
        var users: Set<String> = []
        for request in calls.live(where: { $0.machine.isWaiting }) { users.insert(request.aor) }
        for aor in users {
            ask(about: aor) { (store) throws(StoreError) in
                try store.bindings(of: aor, now: SystemClock.wallSeconds())
            } then: { [weak self] result in
                guard let self, let bindings = try? result.get() else { return }
                for request in calls.requests(for: aor) where request.machine.end == nil {
                    let age = (SystemClock.monotonicMilliseconds() - request.beganAt) / 1000
                    ringElsewhere(bindings, request, within: age + 1)
                }
            }
        }
    }

    /// Phones that have registered elsewhere at the moment when the request came ring where they are.
    func ringElsewhere(_ bindings: [Binding], _ request: HeldRequest) {
        ringElsewhere(bindings, request, within: Self.freshWindow)
    }

    private func ringElsewhere(_ bindings: [Binding], _ request: HeldRequest, within seconds: Int64) {
        let now = SystemClock.wallSeconds()
        let here = NodeRoute(nodeURI: settings.text(.nodeURI))
        for binding in bindings where !binding.route.isEmpty && binding.expiresAt > now {
            guard (0...seconds).contains(now &- binding.registeredAt), !here.isOwn(binding.route),
                !request.message.contacts.contains(where: { CallDevices.matches($0.known, binding) })
            else { continue }
            let contact = RegistrationNotice.Contact(
                uri: binding.contact, instance: binding.instance,
                tokens: bindings.filter { $0.instance == binding.instance && $0.contact == binding.contact }.map(
                    \.token),
                registrationID: binding.callID, route: binding.route)
            dispatch(registeredElsewhere(contact, aor: request.aor, domain: request.message.domain))
        }
    }

    private func registeredElsewhere(_ contact: RegistrationNotice.Contact, aor: String, domain: String) -> [HostVerb] {
        let key = contact.shortKey
        let elsewhere = ElsewhereContact(
            uri: Binding.withoutPushParameters(contact.uri), route: contact.route, flow: contact.flow)
        let node = NodeRoute.node(of: contact.route)
        let time = SystemClock.monotonicMilliseconds()
        for request in calls.requests(for: aor) {
            request.elsewhere[key] = elsewhere
            // Behind a proxy of its own the phone is reached without its node.
            trace.note(request.trace, .announced(node: node.isEmpty ? "another node" : node), now: time)
        }
        let known = CallContact(
            key: key, address: elsewhere.uri, flow: contact.flow, registrationID: contact.registrationID,
            isBehindProxy: !contact.route.isEmpty, isElsewhere: true)
        let registration = CallRegistration(instance: contact.instance, tokens: contact.tokens, contact: known)
        return registered(registration, uri: contact.uri, aor: aor, domain: domain)
    }

    /// Lists the nodes that share the store.
    func nodes(_ message: MessageReader, _ peer: EnginePeer) {
        guard let shared else {
            return fail(message, peer, "this engine shares its store with nobody; set store to a server's address")
        }
        let own = NodeName.of(settings)
        shared.nodes { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let error): fail(message, peer, "the store cannot be used: \(error)", isStoreAway: true)
            case .success(let nodes):
                let now = SystemClock.wallSeconds()
                reply(to: message, peer) { writer in
                    for node in nodes {
                        writer.put(.row, 1)
                        Self.put("node", node.name, &writer)
                        Self.put("version", node.version, &writer)
                        Self.put("running_for", max(0, now &- node.startedAt), &writer)
                        Self.put("is_this", node.name == own ? "yes" : "", &writer)
                        let shared = node.name == own ? shared.sharedNames : []
                        Self.put(
                            "problem", shared.isEmpty ? "" : "another is \(shared.joined(separator: ", and ")) as well",
                            &writer)
                    }
                }
            }
        }
    }

    /// What other nodes are told of a REGISTER at this one; nil when nobody shares the store.
    func notice(of registration: Registration, _ host: RegisteringHost) -> [UInt8]? {
        guard shared != nil else { return nil }
        let route = NodeRoute(nodeURI: settings.text(.nodeURI))
        let contacts = registration.contacts.enumerated().map { index, contact in
            let isRemoval = registration.isRemoval(contact)
            let saved = isRemoval ? nil : host.contact(contact.uri, at: index, of: registration.contacts.count)
            return RegistrationNotice.Contact(
                uri: contact.uri, instance: contact.instance, tokens: contact.bindings.map(\.token),
                key: saved?.key ?? "", flow: saved?.flow ?? "", registrationID: registration.callID,
                route: isRemoval
                    ? "" : route.text(aor: registration.aor, path: saved?.path ?? "", flow: saved?.flow ?? ""),
                isRemoval: isRemoval)
        }
        guard !contacts.isEmpty else { return nil }
        return RegistrationNotice(aor: registration.aor, domain: host.domain, contacts: contacts).bytes
    }
}

/// Where a contact is that registered at another node.
struct ElsewhereContact: Equatable {
    /// Without push parameters.
    let uri: String
    /// By which it is reached from here; empty: directly.
    let route: String
    let flow: String
}
