// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore

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
    func ticket(text: String, devices: [CallDevice], isPending: Bool = false) -> [UInt8] {
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
