// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Requests that outlived the engine which began them.
extension EngineCore {
    /// Goes on with a request that a host holds: phones that have registered since this engine was started ring, others
    /// whose push the old engine had not finished are pushed.
    func resume(_ message: MessageReader, _ peer: EnginePeer) {
        guard let ticket = RequestTicket(message), ticket.message.handle != 0 else {
            return hosts.fail(message, peer, "the ticket of this request is of another release")
        }
        if let known = calls[ticket.message.id] {
            // While a leg is out, its end says what becomes of the request.
            if known.machine.end == nil, !known.machine.isWaiting, !known.machine.hasLegs {
                let verb = HostVerb(.giveUp, known)
                (verb.status, verb.leg, verb.replaces) = (480, known.machine.newestLeg, known.nextTurn())
                dispatch([verb])
            }
            return hosts.reply(to: message, peer) { _ in }
        }
        // Its end came over another connection, and was faster.
        guard !resumesUnderWay.hasEnded(ticket.message.id, now: SystemClock.monotonicMilliseconds()) else {
            return hosts.reply(to: message, peer) { _ in }
        }
        guard store.shared == nil else {
            hosts.reply(to: message, peer) { _ in }
            let now = SystemClock.monotonicMilliseconds()
            guard resumesUnderWay.begin(ticket, now: now) else { return }
            // Phones that register here until the store has answered are for it, too.
            earlyRegistrations.stayOpen(
                until: now + max(0, context.holdSeconds(of: ticket.message) * 1000 - ticket.age))
            goOn(with: ticket.message.id)
            return
        }
        let read = store.askOwn { (store) throws(StoreError) in
            try store.bindings(of: ticket.message.aor, now: SystemClock.wallSeconds())
        }
        switch read {
        case .success(let bindings):
            resume(ticket, bindings)
            hosts.reply(to: message, peer) { _ in }
        case .failure(let error): hosts.fail(message, peer, "the store cannot be read: \(error)", isStoreAway: true)
        }
    }

    /// Asks a shared store about those that it has not answered: an engine that has just been started often hears of them
    /// before its connection stands.
    func goOnWithResumes() {
        for id in resumesUnderWay.unasked { goOn(with: id) }
    }

    private func goOn(with id: RequestID) {
        guard let ticket = resumesUnderWay.ticket(id, now: SystemClock.monotonicMilliseconds()) else { return }
        resumesUnderWay.ask(id, isAsked: true)
        hold(for: ticket.message) { (store) throws(StoreError) in
            try store.bindings(of: ticket.message.aor, now: SystemClock.wallSeconds())
        } then: { [self] result, state in
            switch result {
            case .success(let bindings):
                storeOutage.end()
                resume(id, bindings, isClaimed: state.isClaimed)
            case .failure(.unusable), .failure(.full):
                // Time is over: its host hears of that.
                let latest = resumesUnderWay.ticket(id, now: SystemClock.monotonicMilliseconds()) ?? ticket
                guard latest.age < patience(latest) else { return resume(id, []) }
                resumesUnderWay.ask(id, isAsked: false)
                lookLater()
            case .failure(.corrupt): resume(id, [])
            }
        }
    }

    /// Milliseconds from its begin for which a request waits for the store.
    private func patience(_ ticket: RequestTicket) -> Int64 {
        let wait = context.holdSeconds(of: ticket.message) * 1000
        return ticket.isPending ? min(wait, StoreOutage.patience) : wait
    }

    /// Takes a request whose bindings a shared store cannot tell now: phones that can be reached ring, and who sleeps is pushed
    /// when the store answers. Nil when its host cannot hold it, or the store has been away for long.
    func takeWithoutBindings(_ message: WakeMessage, _ error: StoreError) -> WakeAnswer? {
        if case .corrupt = error { return nil }
        let now = SystemClock.monotonicMilliseconds()
        guard message.handle != 0, message.purr.isEmpty, calls.hasRoom, resumesUnderWay.hasRoom,
            storeOutage.mayWait(now: now)
        else { return nil }
        var message = message
        var answer = WakeAnswer(contacts: message.contacts.count)
        var lastLeg = 0
        for index in message.contacts.indices {
            guard message.contacts[index].known.contact.canBeRung else {
                answer.verdicts[index] = 1
                continue
            }
            lastLeg += 1
            message.contacts[index].leg = lastLeg
            answer.legs[index] = UInt16(clamping: lastLeg)
        }
        let ticket = RequestTicket(pending: message, lastLeg: lastLeg)
        guard resumesUnderWay.begin(ticket, now: now) else { return nil }
        earlyRegistrations.stayOpen(until: now + patience(ticket))
        answer.isWatched = true
        answer.hold = context.holdSeconds(of: message) * 1000
        answer.limit = answer.hold
        answer.ticket = message.ticket(text: Self.text(of: message), devices: [], isPending: true)
        context.log(.info, "held until the store answers \(EngineLog.names(message.aor, message.callID)): \(error)")
        lookLater()
        return answer
    }

    /// The bindings are here, or not to be waited for: a phone has come. `isClaimed`: another node may push.
    private func resume(_ id: RequestID, _ bindings: [Binding], isClaimed: Bool = false) {
        let now = SystemClock.monotonicMilliseconds()
        if let ticket = resumesUnderWay.ticket(id, now: now) {
            let reports = resumesUnderWay.end(id)
            resume(ticket, bindings, isClaimed: isClaimed)
            for report in reports { report() }
        } else if let request = calls[id], request.machine.end == nil {
            // It has begun without them.
            ringElsewhere(bindings, request, within: request.age(now))
        }
    }

    /// A phone has registered, about whose requests a shared store has yet to answer: what an earlier engine has pushed is
    /// known without it, and so is a leg that is out to it. Those that go on now.
    func resumeWithoutBindings(_ aor: String, _ registration: CallRegistration) -> [RequestID] {
        let now = SystemClock.monotonicMilliseconds()
        let waiting = resumesUnderWay.requests(for: aor).filter { id in
            guard let ticket = resumesUnderWay.ticket(id, now: now) else { return false }
            return !ticket.isPending && !ticket.hasLeg(to: registration)
        }
        for id in waiting { resume(id, []) }
        return waiting
    }

    private func resume(_ ticket: RequestTicket, _ bindings: [Binding], isClaimed: Bool = false) {
        let now = SystemClock.monotonicMilliseconds()
        let request = makeRequest(
            ticket.message, APNsTokenKind(context.settings).named(inScope(bindings, of: ticket.message)), now,
            age: ticket.age)
        if ticket.isPending, isClaimed { request.pushes.turn = .perhapsOfAnother }
        calls.add(request)
        context.traces.note(request.trace, ticket.isPending ? .bindingsLate(ticket.age) : .resumed, now: now)
        let devices = request.resumedDevices(ticket, bindings.isEmpty && !ticket.isPending)
        let early = earlyRegistrations.registrations(
            for: request, since: ticket.isPending ? request.beganAt : .min, now: now)
        for (registration, uri) in early where !uri.isEmpty { request.name(uri, registration.contact.key) }
        // What was announced while no engine was here was announced to nobody.
        let elsewhere = registrationsElsewhere(bindings, request, within: request.age(now))
        let registrations = early.map(\.registration) + elsewhere
        let verbs =
            ticket.isPending
            ? request.machine.startLate(devices, lastLeg: ticket.lastLeg, registrations: registrations, now: now)
            : request.machine.resume(devices, lastLeg: ticket.lastLeg, registrations: registrations, now: now)
        dispatch(perform(verbs, request))
        schedule(request, now)
        guard ticket.isPending else { return context.statistics.resumed += 1 }
        if !isClaimed, !bindings.isEmpty { store.shared?.confirmClaim(request.message.key.claim, of: request.aor) }
    }
}

/// What a host gives back of a request: the ticket of the first answer, and how things stand now.
///
///     ticket = the fields of the request, then one token fingerprint a device
struct RequestTicket {
    var message: WakeMessage
    /// Milliseconds since the request came.
    private(set) var age: Int64
    /// Fingerprints of devices whose push was taken.
    let pushed: Set<UInt64>
    /// The highest leg number in use.
    let lastLeg: Int
    /// The request was taken before its bindings were known: who sleeps was not pushed.
    let isPending: Bool

    /// Of a request that is taken now, with the legs of its contacts.
    init(pending message: WakeMessage, lastLeg: Int) {
        self.message = message
        (age, pushed, self.lastLeg, isPending) = (0, [], lastLeg, true)
    }

    /// Nil when the bytes are of another release.
    init?(_ message: MessageReader) {
        var reader = message
        var bytes: [UInt8] = []
        var (mask, handle, host) = (UInt64(0), UInt64(0), UInt64(0))
        var (age, lastLeg) = (Int64(0), 0)
        var contact = WakeMessage.Contact()
        var contacts: [WakeMessage.Contact] = []
        while let field = reader.next() {
            if WakeMessage.read(field, reader, &contact) {
                if field.tag == .contactReachable {
                    if contact.key.isEmpty { contact.key = contact.uri }
                    contacts.append(contact.taken())
                }
                continue
            }
            switch field.tag {
            case .ticket: bytes = Array(reader.bytes[field.range])
            case .pushedDevices: mask = UInt64(bitPattern: reader.number(field))
            case .handle: handle = UInt64(bitPattern: reader.number(field))
            case .host: host = UInt64(bitPattern: reader.number(field))
            case .milliseconds: age = max(0, reader.number(field))
            case .lastLeg: lastLeg = Int(clamping: reader.number(field))
            default: break
            }
        }
        guard let inner = MessageReader(bytes) else { return nil }
        self.message = WakeMessage(decoding: inner)
        (self.message.contacts, self.message.handle, self.message.host) = (contacts, handle, host)
        (self.age, self.lastLeg) = (min(age, 86_400_000), min(max(lastLeg, 0), 1 << 20))
        var fields = inner
        var pushed: Set<UInt64> = []
        var device = 0
        var isPending = false
        while let field = fields.next() {
            if field.tag == .bindingsPending { isPending = true }
            guard field.tag == .token else { continue }
            if device < 64, mask & (1 << UInt64(device)) != 0 {
                pushed.insert(UInt64(bitPattern: fields.number(field)))
            }
            device += 1
        }
        self.pushed = pushed
        self.isPending = isPending
    }

    /// The request is out to the phone of a registration.
    func hasLeg(to registration: CallRegistration) -> Bool {
        message.contacts.contains { contact in
            contact.leg > 0
                && (contact.key == registration.contact.key
                    || !contact.instance.isEmpty && contact.instance == registration.instance)
        }
    }

    /// A leg has a provisional answer.
    mutating func note(_ status: Int, of leg: Int) {
        guard let index = message.contacts.firstIndex(where: { leg > 0 && $0.leg == leg }) else { return }
        message.contacts[index].legStatus = max(message.contacts[index].legStatus, status)
    }

    /// The same so many milliseconds later.
    func aged(by milliseconds: Int64) -> RequestTicket {
        var later = self
        later.age = min(age + max(0, milliseconds), 86_400_000)
        return later
    }
}

extension WakeMessage {
    /// What another engine needs to go on with the request. `isPending`: its bindings are not known yet.
    fileprivate func ticket(text: String, devices: [CallDevice], isPending: Bool = false) -> [UInt8] {
        var writer = MessageWriter(room: 512)
        writer.begin(.resume, id: 0)
        put(into: &writer, text: text)
        if isPending { writer.put(.bindingsPending, 1) }
        for device in devices { writer.put(.token, Int64(bitPattern: HeldRequest.fingerprint(of: device))) }
        return writer.bytes
    }
}

extension HeldRequest {
    /// What another engine needs to go on with it.
    var ticket: [UInt8] { message.ticket(text: content.text, devices: devices.devices) }

    /// How the devices stood when the host lost its engine, and behind them those that were pushed and that no binding
    /// explains any more. Without bindings nothing is known but these.
    func resumedDevices(_ ticket: RequestTicket, _ isWithoutBindings: Bool) -> [CallMachine.ResumedDevice] {
        var lost = ticket.pushed
        let known = devices.devices.map { device in
            guard !isWithoutBindings else { return CallMachine.ResumedDevice(wasPushed: false, leg: nil, contact: nil) }
            // Of two legs the one that was heard more of, or the newer one.
            let out = ticket.message.contacts.filter { contact in
                contact.leg > 0 && device.contacts.contains { $0.key == contact.key }
            }.max { ($0.isLegOut ? $0.legStatus : -1, $0.leg) < ($1.isLegOut ? $1.legStatus : -1, $1.leg) }
            return CallMachine.ResumedDevice(
                wasPushed: lost.remove(Self.fingerprint(of: device)) != nil, leg: out?.leg,
                contact: out?.known.contact, status: out?.legStatus ?? 0)
        }
        return known + lost.map { _ in CallMachine.ResumedDevice(wasPushed: true, leg: nil, contact: nil) }
    }

    /// The same for a device whenever its engine was started (FNV-1a).
    fileprivate static func fingerprint(of device: CallDevice) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        let names = device.tokens.isEmpty ? [device.instance] : device.tokens
        for token in names.count < 2 ? names : names.sorted() {
            let bytes = token.utf8Span.span
            for index in bytes.indices { hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01B3 }
        }
        return hash
    }
}
