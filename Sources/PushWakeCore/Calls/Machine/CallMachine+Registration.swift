// SPDX-License-Identifier: MIT

extension CallMachine {
    /// Milliseconds that a leg gets to be answered when its device registers another address over the same flow: the
    /// first request may be arriving at this moment, and a phone refuses the second copy (RFC 3261, 8.2.2.2).
    private static let replacePause: Int64 = 300

    /// More phones of a user than these take no part in one request: somebody may register as a new one each time.
    static let mostDevices = 64

    /// A device of the user has registered.
    public mutating func registered(_ registration: CallRegistration, now: Int64) -> [CallVerb] {
        var verbs = [CallVerb].withRoom(8)
        if join(registration, now, &verbs) { decide(now, &verbs) }
        return verbs
    }

    /// The request is over, and the device has answered or refused it: what it registers now is not about this request.
    public func isDone(with registration: CallRegistration) -> Bool {
        guard end != nil, let index = index(of: registration) else { return false }
        return !devices[index].isOpen
    }

    /// The device of a registration takes part; true when that may change how the request stands.
    mutating func join(_ registration: CallRegistration, _ now: Int64, _ verbs: inout [CallVerb]) -> Bool {
        let known = index(of: registration)
        if let pushed = pushedToken(of: registration, known) {
            // Late: what it is told of the end came over push.
            guard !isClosed else {
                verbs.append(.note(.registered(device: pushed)))
                return false
            }
            if let known {
                devices[pushed].takeOver(devices[known])
                devices[known] = DeviceState(CallDevice())
            }
            return join(registration, pushed, now, &verbs)
        }
        if let known { return join(registration, known, now, &verbs) }
        guard !isClosed, policy.joinsOthers, devices.count < Self.mostDevices else { return false }
        let index = devices.count
        devices.append(
            DeviceState(
                CallDevice(
                    instance: registration.instance, tokens: registration.tokens, contacts: [registration.contact],
                    isAwake: true)))
        verbs.append(.note(.registered(device: index)))
        ring(index, registration.contact, now, &verbs)
        return true
    }

    private mutating func join(
        _ registration: CallRegistration, _ index: Int, _ now: Int64, _ verbs: inout [CallVerb]
    ) -> Bool {
        verbs.append(.note(.registered(device: index)))
        devices[index].binding = .kept
        let contact = registration.contact
        let isRefresh = devices[index].facts.contacts.contains { contact.isRefresh(of: $0) }
        learn(index, registration)
        guard !isClosed else {
            ringAndCancel(index, contact, now, &verbs)
            return false
        }
        guard devices[index].isOpen else { return false }
        if let legs = devices[index].legs {
            moved(index, legs, to: contact, isRefresh: isRefresh, now, &verbs)
        } else {
            follow(index, contact, now, &verbs)
        }
        // It is there: what has not left yet need not go.
        dropPush(index, &verbs)
        return true
    }

    /// A contact of the user is gone from the registrar.
    public mutating func unregistered(contact key: String, now: Int64) -> [CallVerb] {
        var verbs: [CallVerb] = []
        for index in devices.indices {
            // A leg that is out stays: whoever leaves an address may have the request from there already.
            devices[index].facts.contacts.removeAll { $0.key == key }
            if devices[index].next?.contact.key == key { devices[index].next = nil }
        }
        decide(now, &verbs)
        return verbs
    }

    /// The binding of a device is gone: its user has logged out, or was barred. It is waited for a little longer, since an app
    /// that corrects its address un-REGISTERs before it registers anew.
    public mutating func unbound(device index: Int, now: Int64) -> [CallVerb] {
        guard devices.indices.contains(index), case .kept = devices[index].binding else { return [] }
        let mayCome = if case .none = devices[index].push { false } else { !isClosed }
        devices[index].binding = mayCome ? .leaving(until: now + DeviceState.silence) : .gone
        return isClosed ? [] : [.note(.unregistered(device: index))]
    }

    /// The device of a registration: by its instance, else by a token, else by a contact. A push service gives no token
    /// to two apps, so an app that comes with another instance and its old token is the same one.
    func index(of registration: CallRegistration) -> Int? {
        let isNamed = !registration.instance.isEmpty
        if isNamed, let index = devices.firstIndex(where: { $0.facts.instance == registration.instance }) {
            return index
        }
        if let index = devices.firstIndex(where: { $0.facts.tokens.contains { registration.tokens.contains($0) } }) {
            return index
        }
        let known = devices.firstIndex { state in
            if isNamed && !state.facts.instance.isEmpty { return false }
            return state.facts.contacts.contains { $0.key == registration.contact.key }
        }
        return known ?? devices.firstIndex { $0.isUnknown } ?? onlyOne(for: registration)
    }

    /// The user's only phone, where it was pushed and neither has a name: an app may say its token when it starts, and
    /// not when a push has woken it (`X-MPUSH` is a header beside its Contact).
    private func onlyOne(for registration: CallRegistration) -> Int? {
        guard registration.instance.isEmpty, registration.tokens.isEmpty, devices.count == 1,
            devices[0].facts.instance.isEmpty, devices[0].wasPushed, devices[0].isAwaited
        else { return nil }
        return 0
    }

    /// A pushed device of which nothing but tokens is known, where this must be it: what registers names no token, and
    /// comes from where no phone was. One that was there before, and refreshes, is another phone.
    private func pushedToken(of registration: CallRegistration, _ known: Int?) -> Int? {
        guard registration.tokens.isEmpty else { return nil }
        if let known {
            let state = devices[known]
            guard state.isPlainPhone, state.isOpen,
                !state.facts.contacts.contains(where: { $0.isSameFlow(as: registration.contact) })
            else { return nil }
        }
        return devices.firstIndex { $0.push.mayArrive && $0.hasOnlyTokens }
    }

    private mutating func learn(_ index: Int, _ registration: CallRegistration) {
        for token in registration.tokens where !devices[index].facts.tokens.contains(token) {
            devices[index].facts.tokens.append(token)
        }
        if !registration.instance.isEmpty { devices[index].facts.instance = registration.instance }
        devices[index].supersede(by: registration.contact)
        // No two devices share a contact: it belongs to whoever registered it last.
        for other in devices.indices { devices[other].facts.contacts.removeAll { $0.key == registration.contact.key } }
        devices[index].facts.contacts.insert(registration.contact, at: 0)
    }

    /// The device registers while the request is out to it. `isRefresh`: it had this contact before.
    private mutating func moved(
        _ index: Int, _ legs: DeviceLegs, to contact: CallContact, isRefresh: Bool, _ now: Int64,
        _ verbs: inout [CallVerb]
    ) {
        if let other = legs.other {
            let rung = devices[index].contact(of: other)
            if contact.isSamePlace(as: rung), contact.isSameFlow(as: rung), contact.isSameRun(as: rung) {
                return resend(index, other, now, &verbs)
            }
        }
        let leg = legs.first
        let rung = devices[index].contact(of: leg)
        let isSameFlow = contact.isSameFlow(as: rung)
        let isSameRun = contact.isSameRun(as: rung)
        // The request may be arriving at this moment.
        let isFresh = now < leg.since + Self.replacePause
        // No app ends and starts again on its flow in that time: one that registers anew under another Call-ID is
        // correcting its address (RFC 5626, 4.2; PJSIP unregisters the old one first).
        let isCorrecting = isSameFlow && isFresh
        // A device that has several flows takes a request over one of them (RFC 5626, 5.3).
        let isOtherFlow = isRefresh && !isSameFlow || contact.isBeside(rung)
        let isOverUDP = contact.reach == .datagram && rung.reach == .datagram && rung.isDirect
        if leg.heard == .alerting, isOverUDP, !isOtherFlow { devices[index].hasMoved = !isSameFlow }
        switch leg.heard {
        case .alerting where isSameRun || isCorrecting || isOtherFlow: return
        case .trying where isSameFlow && (isSameRun || isCorrecting) || isOtherFlow: return
        case .nothing where isSameFlow && contact.isSamePlace(as: rung):
            devices[index].next = nil
            resend(index, leg, now, &verbs)
        // It was there after its push, and is thinking: a second copy of a message is a second message.
        case .nothing where isOtherFlow && !isCall && leg.number != devices[index].sent.afterLeg:
            devices[index].next = (contact, at: max(now, leg.since + DeviceState.silence))
        case .nothing where (isCorrecting || isOtherFlow || !isCall) && isFresh:
            devices[index].next = (contact, at: leg.since + Self.replacePause)
        case .nothing, .trying, .alerting: follow(index, contact, now, &verbs)
        }
    }

    /// Rings the device where it has registered: now, or as soon as it may have one more leg.
    mutating func follow(_ index: Int, _ contact: CallContact, _ now: Int64, _ verbs: inout [CallVerb]) {
        let at = devices[index].nextLegAt
        if now >= at {
            ring(index, contact, now, &verbs)
        } else {
            devices[index].next = (contact, at)
        }
    }

    /// Sends a datagram once more.
    private mutating func resend(_ index: Int, _ leg: CallLeg, _ now: Int64, _ verbs: inout [CallVerb]) {
        guard leg.heard == .nothing, devices[index].contact(of: leg).reach == .datagram else { return }
        // Where no push brings it, it has as long to answer as it had for the first one.
        if case .failed = devices[index].push, devices[index].leg?.sentAt != nil {
            devices[index].legs?.first.sentAt = now
        }
        verbs.append(.resend(leg: leg.number))
        verbs.append(.note(.resent(device: index, leg: leg.number)))
    }
}
