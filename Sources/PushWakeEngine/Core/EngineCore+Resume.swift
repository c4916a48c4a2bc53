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
            return fail(message, peer, "the ticket of this request is of another release")
        }
        if let known = calls[ticket.message.id] {
            // While a leg is out, its end says what becomes of the request.
            if known.machine.end == nil, !known.machine.isWaiting, !known.machine.hasLegs {
                let verb = HostVerb(.giveUp, known)
                (verb.status, verb.leg, verb.replaces) = (480, known.machine.newestLeg, known.nextTurn())
                dispatch([verb])
            }
            return reply(to: message, peer) { _ in }
        }
        // Its end came over another connection, and was faster.
        guard !resumesUnderWay.hasEnded(ticket.message.id, now: SystemClock.monotonicMilliseconds()) else {
            return reply(to: message, peer) { _ in }
        }
        guard shared == nil else {
            reply(to: message, peer) { _ in }
            let now = SystemClock.monotonicMilliseconds()
            guard resumesUnderWay.begin(ticket, now: now) else { return }
            // Phones that register here until the store has answered are for it, too.
            earlyRegistrations.stayOpen(until: now + max(0, hold(ticket.message) * 1000 - ticket.age))
            goOn(with: ticket.message.id)
            return
        }
        let read = direct { (store) throws(StoreError) in
            try store.bindings(of: ticket.message.aor, now: SystemClock.wallSeconds())
        }
        switch read {
        case .success(let bindings):
            resume(ticket, bindings)
            reply(to: message, peer) { _ in }
        case .failure(let error): fail(message, peer, "the store cannot be read: \(error)", isStoreAway: true)
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
        } then: { [self] result, _ in
            switch result {
            case .success(let bindings): resume(id, bindings)
            case .failure(.unusable), .failure(.full):
                // Time is over: its host hears of that.
                guard ticket.age < hold(ticket.message) * 1000 else { return resume(id, []) }
                resumesUnderWay.ask(id, isAsked: false)
                lookLater()
            case .failure(.corrupt): resume(id, [])
            }
        }
    }

    /// The bindings are here, or not to be waited for: a phone has come.
    private func resume(_ id: RequestID, _ bindings: [Binding]) {
        let now = SystemClock.monotonicMilliseconds()
        if let ticket = resumesUnderWay.ticket(id, now: now) {
            let reports = resumesUnderWay.end(id)
            resume(ticket, bindings)
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
        let waiting = resumesUnderWay.requests(for: aor).filter {
            resumesUnderWay.ticket($0, now: now)?.hasLeg(to: registration) == false
        }
        for id in waiting { resume(id, []) }
        return waiting
    }

    private func resume(_ ticket: RequestTicket, _ bindings: [Binding]) {
        let now = SystemClock.monotonicMilliseconds()
        let request = makeRequest(
            ticket.message, APNsTokenKind(settings).named(bindings), now, age: ticket.age)
        calls.add(request)
        traces.note(request.trace, .resumed, now: now)
        let devices = request.resumedDevices(ticket, bindings.isEmpty)
        let early = earlyRegistrations.registrations(for: request, now: now)
        for (registration, uri) in early where !uri.isEmpty { request.name(uri, registration.contact.key) }
        // What was announced while no engine was here was announced to nobody.
        let elsewhere = registrationsElsewhere(bindings, request, within: request.age(now))
        let verbs = request.machine.resume(
            devices, lastLeg: ticket.lastLeg, registrations: early.map(\.registration) + elsewhere, now: now)
        dispatch(perform(verbs, request))
        schedule(request, now)
        statistics.resumed += 1
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
        while let field = fields.next() {
            guard field.tag == .token else { continue }
            if device < 64, mask & (1 << UInt64(device)) != 0 {
                pushed.insert(UInt64(bitPattern: fields.number(field)))
            }
            device += 1
        }
        self.pushed = pushed
    }

    /// The request is out to the phone of a registration.
    func hasLeg(to registration: CallRegistration) -> Bool {
        message.contacts.contains { contact in
            contact.leg > 0
                && (contact.key == registration.contact.key
                    || !contact.instance.isEmpty && contact.instance == registration.instance)
        }
    }

    /// The same so many milliseconds later.
    func aged(by milliseconds: Int64) -> RequestTicket {
        var later = self
        later.age = min(age + max(0, milliseconds), 86_400_000)
        return later
    }
}

extension HeldRequest {
    /// What another engine needs to go on with it.
    var ticket: [UInt8] {
        var writer = MessageWriter()
        writer.begin(.resume, id: 0)
        writer.put(.event, Int64(message.event.rawValue))
        if message.occasion != .usual { writer.put(.occasion, Int64(message.occasion.rawValue)) }
        if !message.purr.isEmpty { writer.put(.purr, message.purr) }
        writer.put(.seconds, message.seconds)
        writer.put(.aor, message.aor)
        if !message.domain.isEmpty { writer.put(.domain, message.domain) }
        writer.put(.method, message.method)
        writer.put(.callID, message.callID)
        writer.put(.cseq, Int64(message.cseq))
        if message.hostKind != .proxy { writer.put(.hostKind, Int64(message.hostKind.rawValue)) }
        writer.put(.fromURI, message.fromURI)
        writer.put(.fromDisplay, message.fromDisplay)
        writer.put(.fromTag, message.fromTag)
        if message.offersVideo { writer.put(.video, 1) }
        if message.requiresReliableAnswers { writer.put(.reliable, 1) }
        writer.put(.toURI, message.toURI)
        if !content.text.isEmpty {
            writer.put(.contentType, message.contentType)
            writer.put(.text, content.text)
        }
        for device in devices.devices { writer.put(.token, Int64(bitPattern: Self.fingerprint(of: device))) }
        return writer.bytes
    }

    /// How the devices stood when the host lost its engine, and behind them those that were pushed and that no binding
    /// explains any more. Without bindings nothing is known but these.
    func resumedDevices(_ ticket: RequestTicket, _ isWithoutBindings: Bool) -> [CallMachine.ResumedDevice] {
        var lost = ticket.pushed
        let known = devices.devices.map { device in
            guard !isWithoutBindings else { return CallMachine.ResumedDevice(wasPushed: false, leg: nil, contact: nil) }
            // Of two legs the one that was heard more of, or the newer one.
            let out = ticket.message.contacts.filter { contact in
                contact.leg > 0 && device.contacts.contains { $0.key == contact.key }
            }.max { ($0.legStatus, $0.leg) < ($1.legStatus, $1.leg) }
            return CallMachine.ResumedDevice(
                wasPushed: lost.remove(Self.fingerprint(of: device)) != nil, leg: out?.leg,
                contact: out?.known.contact, status: out?.legStatus ?? 0)
        }
        return known + lost.map { _ in CallMachine.ResumedDevice(wasPushed: true, leg: nil, contact: nil) }
    }

    /// The same for a device whenever its engine was started (FNV-1a).
    private static func fingerprint(of device: CallDevice) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for token in device.tokens.isEmpty ? [device.instance] : device.tokens.sorted() {
            let bytes = token.utf8Span.span
            for index in bytes.indices { hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01B3 }
        }
        return hash
    }
}
