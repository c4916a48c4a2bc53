// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// A request in the machine's hands. Each step names the verbs that follow from it, in short, `note` and `tell` left
/// out; without them nothing may follow, with nil anything. Steps without a device or a leg are about device 0 and leg 1.
///
/// `wait(_:)` lets time pass and ticks at each deadline, as an engine does.
final class HeldCall {
    private var machine: CallMachine
    private var now: Int64 = 1_000_000
    private(set) var notes: [CallNote] = []
    /// What followed from the last step.
    private(set) var said = ""
    /// Of the last push, milliseconds from when it went.
    private var pushDeadline: Int64?
    /// Provisional answers that the caller was sent.
    private var provisional: [Int] = []
    private let devices: [CallDevice]

    /// `change` alters the policy that no setting was made for.
    convenience init(
        _ devices: CallDevice..., event: PushEvent = .call, host: CallHost = .proxy, wakeTimeout: Int64 = 40_000,
        change: (inout CallPolicy) -> Void = { _ in }
    ) {
        self.init(devices, event: event, host: host, wakeTimeout: wakeTimeout, change: change)
    }

    init(
        _ devices: [CallDevice], event: PushEvent = .call, host: CallHost = .proxy, wakeTimeout: Int64 = 40_000,
        change: (inout CallPolicy) -> Void = { _ in }
    ) {
        var policy = CallPolicy()
        change(&policy)
        self.devices = devices
        machine = CallMachine(
            event: event, isCall: event == .call, devices: devices, policy: policy, host: host,
            endsAt: now + wakeTimeout)
    }

    @discardableResult func start(_ verbs: String? = "", at line: SourceLocation = #_sourceLocation) -> Self {
        check(machine.start(now: now), verbs, line)
    }

    /// Its devices are known now; `legs` has the leg that is out to each, and `heard` the last answer of all of them.
    @discardableResult func startLate(
        _ legs: [Int?], heard: Int = 0, registrations: [CallRegistration] = [], _ verbs: String? = "",
        at line: SourceLocation = #_sourceLocation
    ) -> Self {
        let last = legs.compactMap { $0 }.max() ?? 0
        let rung = resumed(legs.map { _ in false }, legs, heard)
        return check(machine.startLate(rung, lastLeg: last, registrations: registrations, now: now), verbs, line)
    }

    /// Another engine has begun it: whom a push was sent to, and the rest as above.
    @discardableResult func resume(
        _ pushed: [Bool], _ legs: [Int?], heard: Int = 0, _ verbs: String? = "",
        at line: SourceLocation = #_sourceLocation
    ) -> Self {
        let last = legs.compactMap { $0 }.max() ?? 0
        return check(machine.resume(resumed(pushed, legs, heard), lastLeg: last, now: now), verbs, line)
    }

    private func resumed(_ pushed: [Bool], _ legs: [Int?], _ heard: Int) -> [CallMachine.ResumedDevice] {
        zip(devices, zip(pushed, legs)).map { device, known in
            CallMachine.ResumedDevice(
                wasPushed: known.0, leg: known.1, contact: known.1 == nil ? nil : device.contacts.first, status: heard)
        }
    }

    /// The phone answers.
    @discardableResult func hear(
        _ status: Int, leg: Int = 1, _ verbs: String? = "", at line: SourceLocation = #_sourceLocation
    ) -> Self {
        check(machine.progressed(leg: leg, status: status, isFromPhone: true, now: now), verbs, line)
    }

    /// The host itself gives up on a leg: a timeout, a dead connection, 487 where a dialplan hangs it up.
    @discardableResult func fail(
        _ status: Int = 408, leg: Int = 1, _ verbs: String? = "", at line: SourceLocation = #_sourceLocation
    ) -> Self {
        check(machine.progressed(leg: leg, status: status, isFromPhone: false, now: now), verbs, line)
    }

    /// The host tries others before this leg.
    @discardableResult func postpone(leg: Int) -> Self {
        machine.postponed(leg: leg)
        return self
    }

    /// The host sends a leg.
    @discardableResult func send(leg: Int = 1) -> Self {
        machine.sent(leg: leg, now: now)
        return self
    }

    /// A device registers; its name is its instance.
    @discardableResult func register(
        _ name: String, at contact: CallContact, _ verbs: String? = "", at line: SourceLocation = #_sourceLocation
    ) -> Self {
        register(CallRegistration(instance: name, contact: contact), verbs, at: line)
    }

    @discardableResult func register(
        _ registration: CallRegistration, _ verbs: String? = "", at line: SourceLocation = #_sourceLocation
    ) -> Self {
        check(machine.registered(registration, now: now), verbs, line)
    }

    @discardableResult func unregister(
        _ contact: String, _ verbs: String? = "", at line: SourceLocation = #_sourceLocation
    ) -> Self {
        check(machine.unregistered(contact: contact, now: now), verbs, line)
    }

    /// Its binding is gone.
    @discardableResult func unbind(
        _ device: Int = 0, _ verbs: String? = "", at line: SourceLocation = #_sourceLocation
    ) -> Self {
        check(machine.unbound(device: device, now: now), verbs, line)
    }

    @discardableResult func accept(
        _ device: Int = 0, _ verbs: String? = "", at line: SourceLocation = #_sourceLocation
    ) -> Self {
        check(machine.pushEnded(device: device, isAccepted: true, now: now), verbs, line)
    }

    @discardableResult func refuse(
        _ device: Int = 0, _ verbs: String? = "", at line: SourceLocation = #_sourceLocation
    ) -> Self {
        check(machine.pushEnded(device: device, isAccepted: false, now: now), verbs, line)
    }

    @discardableResult func retry(
        _ device: Int = 0, _ verbs: String? = "", at line: SourceLocation = #_sourceLocation
    ) -> Self {
        check(machine.pushRetried(device: device, now: now), verbs, line)
    }

    @discardableResult func lose(
        _ device: Int = 0, _ verbs: String? = "", at line: SourceLocation = #_sourceLocation
    ) -> Self {
        check(machine.pushUnreachable(device: device, now: now), verbs, line)
    }

    /// The script sends the request elsewhere, and phones may join for so long.
    @discardableResult func `continue`(for time: Int64, at line: SourceLocation = #_sourceLocation) -> Self {
        check(machine.continued(until: now + time, now: now), "", line)
    }

    /// Nobody holds the request.
    @discardableResult func startUnheld(
        for time: Int64, _ verbs: String, at line: SourceLocation = #_sourceLocation
    ) -> Self {
        check(machine.startUnheld(until: now + time, now: now), verbs, line)
    }

    @discardableResult func end(
        _ how: CallEnd, _ verbs: String? = "", at line: SourceLocation = #_sourceLocation
    ) -> Self {
        check(machine.ended(how, now: now), verbs, line)
    }

    @discardableResult func wait(
        _ pause: Int64, _ verbs: String? = "", at line: SourceLocation = #_sourceLocation
    ) -> Self {
        let until = now + pause
        var said: [String] = []
        while let at = machine.deadline(), at <= until, said.count < 100 {
            now = max(now, at)
            said.append(say(machine.tick(now: now)))
        }
        now = until
        #expect(said.count < 100, "it comes to rest", sourceLocation: line)
        return check(said.filter { !$0.isEmpty }.joined(separator: ", "), verbs, line)
    }

    // MARK: What is known of it then

    /// Milliseconds from now; nil when there is nothing to wait for.
    @discardableResult func waits(_ time: Int64?, at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(machine.deadline().map { $0 - now } == time, sourceLocation: line)
        return self
    }

    @discardableResult func ended(_ how: CallEnd, at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(machine.end == how, sourceLocation: line)
        return self
    }

    /// How long the last push is good for, in milliseconds from when it went.
    @discardableResult func pushedFor(_ time: Int64, at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(pushDeadline == time, sourceLocation: line)
        return self
    }

    /// Which provisional answers the caller was sent.
    @discardableResult func told(_ statuses: [Int], at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(provisional == statuses, sourceLocation: line)
        return self
    }

    /// Which devices came and said nothing, as of now.
    @discardableResult func silent(_ devices: [Int], at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(machine.silentDevices(now: now) == devices, sourceLocation: line)
        return self
    }

    @discardableResult func noted(_ note: CallNote, at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(notes.contains(note), sourceLocation: line)
        return self
    }

    @discardableResult func notedLast(_ note: CallNote, at line: SourceLocation = #_sourceLocation) -> Self {
        #expect(notes.last == note, sourceLocation: line)
        return self
    }

    /// Whether what a device registers now is not about the request.
    @discardableResult func isDone(
        _ name: String, _ isDone: Bool = true, at line: SourceLocation = #_sourceLocation
    ) -> Self {
        let registration = CallRegistration(instance: name, contact: CallContact(key: "elsewhere"))
        #expect(machine.isDone(with: registration) == isDone, sourceLocation: line)
        return self
    }

    private func check(_ said: [CallVerb], _ verbs: String?, _ line: SourceLocation) -> Self {
        check(say(said), verbs, line)
    }

    private func check(_ said: String, _ verbs: String?, _ line: SourceLocation) -> Self {
        self.said = said
        if let verbs { #expect(said == verbs, sourceLocation: line) }
        return self
    }

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
                pushDeadline = deadline - now
            case .dropPush(let device): said.append("drop \(device)")
            case .tell(let status): provisional.append(status)
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
