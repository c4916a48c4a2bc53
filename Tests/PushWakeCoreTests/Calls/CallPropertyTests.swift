// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import Testing

extension SplitMix {
    fileprivate mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(bound, 1))) }
    fileprivate mutating func oneIn(_ chances: Int) -> Bool { below(chances) == 0 }
    fileprivate mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }
}

/// Random events in random order, and what must hold after each of them (`ModelHost`).
///
/// A million of them take some seconds in a release build:
/// `swift test -c release -Xswiftc -enable-testing --filter "whatever happens"`. A debug build plays a few thousand;
/// `PUSHWAKE_SCALE` sets another number. A failure names the seed of its sequence.
@Suite struct `A held call, whatever happens` {
    #if DEBUG
        private static let usualCount = 100_000
    #else
        private static let usualCount = 1_000_000
    #endif

    @Test func `keeps its promises`() {
        let count = getenv("PUSHWAKE_SCALE").flatMap { Int(String(cString: $0)) } ?? Self.usualCount
        var events = 0
        var seed: UInt64 = 0
        while events < count {
            var sequence = CallSequence(seed: seed)
            guard sequence.play() == nil else {
                var again = CallSequence(seed: seed, tells: true)
                let problem = again.play() ?? ""
                Issue.record("seed \(seed): \(problem)\n\(again.trace.joined(separator: "\n"))")
                return
            }
            events += sequence.events
            seed += 1
        }
    }
}

/// One request with random devices, policy and events.
private struct CallSequence: ~Copyable {
    private var random: SplitMix
    private var machine: CallMachine
    private var host: ModelHost
    private var now: Int64
    private var instances: [String]
    private(set) var events = 0
    /// What happened, for the report of a failure.
    private(set) var trace: [String] = []
    private let tells: Bool

    init(seed: UInt64, tells: Bool = false) {
        self.tells = tells
        var random = SplitMix(seed)
        // Any clock will do that leaves room on either side.
        now = random.pick([0, 1_000_000, -1_000_000_000_000, Int64.max / 2])
        var policy = CallPolicy()
        policy.silentAfter = random.pick([1500, 1500, 0, nil, 300])
        policy.declineWaits = random.pick([5000, 0, nil])
        policy.pushRepeat = random.pick([nil, nil, 1000, 10_000])
        policy.pushRepeats = random.pick([1, 2, 20])
        policy.cancelRule = random.pick(CallPolicy.CancelRule.allCases)
        policy.wakeProvisional = random.pick([0, 110, 180])
        policy.unanswered = random.pick([480, 480, 202, 504])
        let kind: CallHost = random.oneIn(3) ? .dialplan : .proxy
        let event: PushEvent = random.oneIn(5) ? .chat : .call
        var devices: [CallDevice] = []
        for index in 0..<random.pick([0, 1, 1, 2, 2, 3, 5]) { devices.append(Self.device(index, &random)) }
        instances = devices.map(\.instance)
        let endsAt = now + Int64(random.pick([0, 1, 1000, 10_000, 40_000, 40_000]))
        machine = CallMachine(
            event: event, isCall: event == .call, devices: devices, policy: policy, host: kind, endsAt: endsAt)
        host = ModelHost(event: event, host: kind, policy: policy, endsAt: endsAt, devices: devices)
        self.random = random
    }

    private static func device(_ index: Int, _ random: inout SplitMix) -> CallDevice {
        var contacts: [CallContact] = []
        for number in 0..<random.pick([0, 1, 1, 1, 2, 3]) { contacts.append(contact(index, number, &random)) }
        return CallDevice(
            instance: random.oneIn(6) ? "" : "device \(index)", tokens: ["token \(index)"], contacts: contacts,
            isAwake: random.oneIn(2), canBePushed: !random.oneIn(4), isProviderHealthy: !random.oneIn(5),
            pushDelay: random.pick([0, 0, 0, 100, 5000, 60_000]), showsCallAtOnce: random.oneIn(2))
    }

    /// Names are few, so that devices come back to where they have been.
    private static func contact(_ device: Int, _ number: Int, _ random: inout SplitMix) -> CallContact {
        let isProxied = (device + number) % 3 == 0
        return CallContact(
            key: "\(isProxied ? ModelHost.proxied : "c")\(device).\(number)", flow: random.pick(["", "1", "1", "2"]),
            registrationID: random.pick(["", "run 1", "run 1", "run 2"]),
            flowNumber: random.pick([0, 0, 1, 2]), reach: random.pick([.datagram, .open, .closed, .lost]),
            isBehindProxy: isProxied)
    }

    /// Plays the request to its end and past it. Returns the rule that was broken.
    mutating func play() -> String? {
        if random.oneIn(6) { resume() } else { perform("start", machine.start(now: now)) }
        var left = 1 + random.below(60)
        while left > 0, host.problem == nil {
            left -= 1
            pass()
            happen()
        }
        if host.end == nil { end() }
        for index in host.outstanding { endPush(index) }
        if host.problem == nil {
            host.checkNotices()
            if machine.deadline() != nil { return "a deadline after the end" }
        }
        return host.problem
    }

    /// Another engine has begun the request, and is gone; or this one has let its host ring before it knew the devices.
    private mutating func resume() {
        let isLate = random.oneIn(2)
        var lastLeg = random.pick([0, 0, 7, .max])
        var resumed: [CallMachine.ResumedDevice] = []
        for index in instances.indices {
            let hasLeg = random.oneIn(2)
            if hasLeg { lastLeg = max(lastLeg, index + 1) }
            resumed.append(
                CallMachine.ResumedDevice(
                    wasPushed: !isLate && host.devices[index].canBePushed && random.oneIn(2),
                    leg: hasLeg ? index + 1 : nil, contact: hasLeg ? Self.contact(index, 0, &random) : nil,
                    status: random.pick([0, 0, 100, 180, 404, 486])))
        }
        host.willResume(resumed, lastLeg: lastLeg, now: now)
        let early = random.oneIn(3) ? registration() : nil
        host.registering = early?.device
        let registrations = early.map { [$0.registration] } ?? []
        perform(
            "\(isLate ? "start late" : "resume") \(resumed) \(registrations)",
            isLate
                ? machine.startLate(resumed, lastLeg: lastLeg, registrations: registrations, now: now)
                : machine.resume(resumed, lastLeg: lastLeg, registrations: registrations, now: now))
        if let early { noteNewDevice(of: early.registration) }
    }

    /// Time goes by: to the next deadline, past it, or not so far.
    private mutating func pass() {
        let pause = Int64(random.pick([0, 0, 1, 100, 299, 1500, 5000, 50_000]))
        switch (random.below(3), machine.deadline()) {
        case (0, let at?): now = max(now, at)
        case (1, let at?): now = min(max(now, at), now + pause)
        default: now += pause
        }
        while let at = machine.deadline(), at <= now, host.problem == nil { tick() }
    }

    private mutating func tick() {
        perform("tick", machine.tick(now: now))
        host.checkDeadline(machine.deadline(), now: now)
    }

    private mutating func happen() {
        switch random.below(20) {
        case 0..<6: progress()
        case 6: reachLeg()
        case 7..<11: register()
        case 11, 12: leave()
        case 13..<17:
            let waiting = host.outstanding
            endPush(
                waiting.isEmpty || random.oneIn(20) ? random.pick([-1, 0, 3, 99, .max, .min]) : random.pick(waiting))
        case 18: if random.oneIn(4) { goElsewhere() } else { tick() }
        case 17: if random.oneIn(4) { end() } else { retryPush() }
        default: tick()
        }
    }

    private mutating func progress() {
        let open = host.openLegs
        let isKnown = !open.isEmpty && !random.oneIn(8)
        let leg = isKnown ? random.pick(open) : random.pick([0, 1, 2, 3, -1, .max, .min])
        let status = random.pick([
            100, 100, 180, 180, 183, 200, 202, 302, 404, 408, 408, 408, 477, 482, 486, 486, 487, 503, 600, 603, 0, 99,
            -1,
            699, 700, .max, .min,
        ])
        let isFromPhone = random.oneIn(2)
        host.willProgress(leg: leg, status: status, isFromPhone: isFromPhone, now: now)
        perform(
            "leg \(leg): \(status)\(isFromPhone ? "" : " of the host")",
            machine.progressed(leg: leg, status: status, isFromPhone: isFromPhone, now: now))
    }

    /// The host comes to a leg, or puts it off.
    private mutating func reachLeg() {
        let open = host.openLegs
        let leg = open.isEmpty ? random.pick([0, -1, .max, .min]) : random.pick(open)
        let isSent = !random.oneIn(4)
        host.willReach(leg: leg, isSent: isSent, now: now)
        if isSent { machine.sent(leg: leg, now: now) } else { machine.postponed(leg: leg) }
    }

    /// Nobody has woken, and the host tries it elsewhere.
    private mutating func goElsewhere() {
        let until = now + Int64(random.pick([0, 1, 1000, 20_000]))
        host.willContinue(until: until)
        perform("elsewhere until \(until)", machine.continued(until: until, now: now))
    }

    private mutating func register() {
        guard let (device, registration) = registration() else { return }
        host.registering = device
        perform("register \(registration)", machine.registered(registration, now: now))
        noteNewDevice(of: registration)
    }

    /// What a device of the user, or a new one, may register with; nil when nothing would tell which it is.
    private mutating func registration() -> (device: Int, registration: CallRegistration)? {
        let device = random.below(instances.count + 1)
        let instance = device < instances.count ? instances[device] : "device \(device)"
        let registration = CallRegistration(
            instance: instance, tokens: random.oneIn(2) ? ["token \(device)"] : [],
            contact: Self.contact(device, random.below(3), &random))
        return instance.isEmpty && registration.tokens.isEmpty ? nil : (device, registration)
    }

    private mutating func noteNewDevice(of registration: CallRegistration) {
        if host.devices.count > instances.count { instances.append(registration.instance) }
    }

    private mutating func leave() {
        let any = Self.contact(random.below(instances.count + 1), random.below(3), &random).key
        let rung = host.devices.filter { $0.leg != nil }.map(\.contact)
        let contact = rung.isEmpty || random.oneIn(3) ? any : random.pick(rung)
        perform("unregister \(contact)", machine.unregistered(contact: contact, now: now))
    }

    private mutating func endPush(_ index: Int) {
        let isAccepted = !random.oneIn(3)
        host.willEndPush(index, isAccepted: isAccepted)
        perform(
            "push of \(index) \(isAccepted ? "accepted" : "failed")",
            machine.pushEnded(device: index, isAccepted: isAccepted, now: now))
    }

    private mutating func retryPush() {
        let waiting = host.outstanding
        let index = waiting.isEmpty ? random.pick([-1, 0, 99, .max, .min]) : random.pick(waiting)
        if random.oneIn(2) {
            perform("push of \(index) is tried again", machine.pushRetried(device: index, now: now))
        } else {
            host.willLoseProvider(index)
            perform("the provider of \(index) is out of reach", machine.pushUnreachable(device: index, now: now))
        }
    }

    private mutating func end() {
        let how = random.pick([
            CallEnd.answered, .cancelled, .cancelled, .completedElsewhere, .failed(486), .failed(603),
        ])
        let verbs = machine.ended(how, now: now)
        host.willEnd(how, as: machine.end, now: now)
        perform("end \(how)", verbs)
    }

    private mutating func perform(_ what: @autoclosure () -> String, _ verbs: [CallVerb]) {
        events += 1
        if tells { trace.append("\(now) \(what()) -> \(verbs)") }
        host.execute(verbs, now: now)
    }
}
