// SPDX-License-Identifier: MIT

import PushWakeCore

/// A request in the machine's hands; each step answers with its verbs in short, `note` and `tell` left out.
///
/// `wait(_:)` lets time pass and ticks at each deadline, as an engine does.
final class HeldCall {
    private var machine: CallMachine
    private(set) var now: Int64 = 1_000_000
    private(set) var notes: [CallNote] = []
    /// Of the last push, milliseconds from when it went.
    private(set) var lastDeadline: Int64?
    /// Provisional answers that the caller was sent.
    private(set) var told: [Int] = []
    private let devices: [CallDevice]

    /// `change` alters the policy that no setting was made for.
    init(
        _ devices: CallDevice..., event: PushEvent = .call, host: CallHost = .proxy, wakeTimeout: Int64 = 40_000,
        change: (inout CallPolicy) -> Void = { _ in }
    ) {
        var policy = CallPolicy()
        change(&policy)
        self.devices = devices
        machine = CallMachine(
            event: event, isCall: event == .call, devices: devices, policy: policy, host: host,
            endsAt: now + wakeTimeout)
    }

    func start() -> String { say(machine.start(now: now)) }

    /// Its devices are known now; `legs` has the leg that is out to each, and `heard` the last answer of all of them.
    func startLate(_ legs: [Int?], heard: Int = 0, registrations: [CallRegistration] = []) -> String {
        let last = legs.compactMap { $0 }.max() ?? 0
        let rung = resumed(legs.map { _ in false }, legs, heard)
        return say(machine.startLate(rung, lastLeg: last, registrations: registrations, now: now))
    }

    /// Another engine has begun it: whom a push was sent to, and the rest as above.
    func resume(_ pushed: [Bool], _ legs: [Int?], heard: Int = 0) -> String {
        let last = legs.compactMap { $0 }.max() ?? 0
        return say(machine.resume(resumed(pushed, legs, heard), lastLeg: last, now: now))
    }

    private func resumed(_ pushed: [Bool], _ legs: [Int?], _ heard: Int) -> [CallMachine.ResumedDevice] {
        zip(devices, zip(pushed, legs)).map { device, known in
            CallMachine.ResumedDevice(
                wasPushed: known.0, leg: known.1, contact: known.1 == nil ? nil : device.contacts.first, status: heard)
        }
    }

    /// The phone answers.
    func hear(_ status: Int, leg: Int) -> String {
        say(machine.progressed(leg: leg, status: status, isFromPhone: true, now: now))
    }

    /// The host itself gives up on a leg: a timeout, a dead connection.
    func fail(_ status: Int = 408, leg: Int) -> String {
        say(machine.progressed(leg: leg, status: status, isFromPhone: false, now: now))
    }

    /// The host tries others before this leg.
    func postpone(leg: Int) { machine.postponed(leg: leg) }

    /// The host sends a leg.
    func send(leg: Int) { machine.sent(leg: leg, now: now) }

    /// A dialplan hangs a leg up.
    func hangUp(leg: Int) -> String { fail(487, leg: leg) }

    /// A device registers; its name is its instance.
    func register(_ name: String, at contact: CallContact) -> String {
        say(machine.registered(CallRegistration(instance: name, contact: contact), now: now))
    }

    func register(_ registration: CallRegistration) -> String { say(machine.registered(registration, now: now)) }

    func unregister(_ contact: String) -> String { say(machine.unregistered(contact: contact, now: now)) }

    /// Its binding is gone.
    func unbind(_ device: Int = 0) -> String { say(machine.unbound(device: device, now: now)) }

    func accept(_ device: Int = 0) -> String {
        say(machine.pushEnded(device: device, isAccepted: true, now: now))
    }

    func refuse(_ device: Int = 0) -> String {
        say(machine.pushEnded(device: device, isAccepted: false, now: now))
    }

    func retry(_ device: Int = 0) -> String { say(machine.pushRetried(device: device, now: now)) }

    func lose(_ device: Int = 0) -> String { say(machine.pushUnreachable(device: device, now: now)) }

    /// The script sends the request elsewhere, and phones may join for so long.
    func `continue`(for time: Int64) -> String { say(machine.continued(until: now + time, now: now)) }

    /// Nobody holds the request.
    func startUnheld(for time: Int64) -> String { say(machine.startUnheld(until: now + time, now: now)) }

    func end(_ how: CallEnd) -> String { say(machine.ended(how, now: now)) }

    /// What a device registers now is not about the request.
    func isDone(_ name: String) -> Bool {
        machine.isDone(with: CallRegistration(instance: name, contact: CallContact(key: "elsewhere")))
    }

    /// Devices that came and said nothing, as of now.
    var silent: [Int] { machine.silentDevices(now: now) }

    func wait(_ pause: Int64) -> String {
        let until = now + pause
        var said: [String] = []
        var ticks = 0
        while let at = machine.deadline(), at <= until {
            now = max(now, at)
            said.append(say(machine.tick(now: now)))
            ticks += 1
            if ticks == 100 { return "never comes to rest" }
        }
        now = until
        return said.filter { !$0.isEmpty }.joined(separator: ", ")
    }

    /// Milliseconds from now; nil when there is nothing to wait for.
    var deadline: Int64? { machine.deadline().map { $0 - now } }
    var ended: CallEnd? { machine.end }

    private func say(_ verbs: [CallVerb]) -> String {
        var said: [String] = []
        for verb in verbs {
            switch verb {
            case .ring(let leg, let contact, let old?): said.append("ring \(leg) \(contact) for \(old)")
            case .ring(let leg, let contact, nil): said.append("ring \(leg) \(contact)")
            case .resend(let leg): said.append("resend \(leg)")
            case .close(let leg): said.append("close \(leg)")
            case .hold: said.append("hold")
            case .giveUp(let status): said.append("give up \(status)")
            case .ringAndCancel(let contact, let reason):
                said.append("show end \(contact) \(reason.split(separator: ";").dropFirst().first ?? "")")
            case .push(let device, let event, let deadline):
                said.append("push \(device) \(event.name)")
                lastDeadline = deadline - now
            case .dropPush(let device): said.append("drop \(device)")
            case .tell(let status): told.append(status)
            case .note(let note): notes.append(note)
            }
        }
        return said.joined(separator: ", ")
    }
}

extension CallContact {
    /// A UDP contact: its key is its address.
    static func udp(_ key: String, flow: String = "udp", run: String = "run 1") -> CallContact {
        CallContact(key: key, flow: flow, registrationID: run, reach: .datagram)
    }

    /// A contact whose connection is open.
    static func tcp(_ key: String, flow: String = "tcp", run: String = "run 1") -> CallContact {
        CallContact(key: key, flow: flow, registrationID: run, reach: .open)
    }

    /// A contact whose connection is gone.
    static func lost(_ key: String) -> CallContact { CallContact(key: key, flow: "gone", reach: .lost) }
}

extension CallDevice {
    /// A phone that sleeps; contacts are what the registrar still has.
    static func asleep(_ name: String, _ contacts: CallContact...) -> CallDevice {
        CallDevice(instance: name, contacts: contacts, canBePushed: true)
    }

    /// A phone that counts as awake.
    static func awake(_ name: String, _ contacts: CallContact...) -> CallDevice {
        CallDevice(instance: name, contacts: contacts, isAwake: true, canBePushed: true)
    }

    /// A phone on a desk: no push reaches it, and it never sleeps.
    static func plain(_ contact: CallContact) -> CallDevice { CallDevice(contacts: [contact], isAwake: true) }

    func with(_ change: (inout CallDevice) -> Void) -> CallDevice {
        var copy = self
        change(&copy)
        return copy
    }
}
