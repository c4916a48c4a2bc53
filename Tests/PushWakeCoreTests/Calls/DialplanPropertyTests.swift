// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// Whatever happens, a dialplan that waits is told to go on: once, and not while a phone is still rung.
@Suite struct `A dialplan, whatever happens` {
    @Test func `is told to give up once, when its last leg is over`() {
        for seed in 0..<UInt64(3000) {
            var sequence = DialplanSequence(seed: seed)
            if let problem = sequence.play() {
                Issue.record("seed \(seed): \(problem)\n\(sequence.trace.joined(separator: "\n"))")
                return
            }
        }
    }
}

private struct DialplanSequence: ~Copyable {
    /// A leg as the dialplan knows it.
    private struct Leg {
        var isSent = false
        var hasResponded = false
    }

    private var state: UInt64
    private var machine: CallMachine
    private var now: Int64 = 1_000_000
    private let endsAt: Int64 = 1_040_000
    private let count: Int
    private var legs: [Int: Leg] = [:]
    private var outstanding: Set<Int> = []
    private var hasAnswer = false
    private var isWaiting = false
    private var problem: String?
    private(set) var trace: [String] = []

    init(seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        count = Int(seed % 3) + 1
        let devices = (0..<count).map { index in
            let reach: CallContact.Reach = (seed >> UInt64(index + 4)) & 1 == 0 ? .open : .lost
            return CallDevice(
                instance: "\(index)", contacts: [CallContact(key: "c\(index)", flow: "1", reach: reach)],
                isAwake: reach == .open, canBePushed: (seed >> UInt64(index + 8)) & 3 != 0)
        }
        machine = CallMachine(
            event: .call, isCall: true, devices: devices, policy: CallPolicy(), host: .dialplan, endsAt: endsAt)
    }

    private mutating func below(_ bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(bound))
    }

    /// Plays a call until nothing is out any more; the rule that was broken.
    mutating func play() -> String? {
        take("start", machine.start(now: now))
        isWaiting = !legs.isEmpty || machine.isWaiting
        for _ in 0..<below(30) where problem == nil && !hasAnswer { happen() }
        // Somebody has picked up: the call is over for this dialplan.
        guard !hasAnswer else { return problem }
        // Nobody says anything any more: pushes and legs run out.
        pass(50_000)
        for _ in 0..<100 {
            for device in outstanding.sorted() { endPush(device, isAccepted: false) }
            if let leg = legs.keys.min() { progress(leg, 408, isFromPhone: false) }
        }
        if problem == nil, isWaiting { return "nobody told the dialplan to go on" }
        return problem
    }

    private mutating func happen() {
        let leg = legs.keys.sorted().first { _ in below(2) == 0 }
        switch below(10) {
        case 0, 1: pass(Int64([0, 10, 400, 1500, 6000][below(5)]))
        case 2:
            guard let leg else { return }
            legs[leg]?.isSent = true
            machine.sent(leg: leg, now: now)
        case 3..<7:
            guard let leg else { return }
            progress(leg, [100, 180, 183, 486, 408, 503, 487, 603, 302, 200][below(10)], isFromPhone: below(2) == 0)
        case 7, 8:
            guard let device = outstanding.sorted().first(where: { _ in below(2) == 0 }) else { return }
            endPush(device, isAccepted: below(3) != 0)
        default:
            let device = below(count)
            let contact = CallContact(key: "n\(device).\(below(3))", flow: "\(below(3))", reach: .open)
            take("register \(device)", machine.registered(.init(instance: "\(device)", contact: contact), now: now))
        }
    }

    private mutating func pass(_ pause: Int64) {
        let until = now + pause
        while let at = machine.deadline(), at <= until {
            now = max(now, at)
            take("tick", machine.tick(now: now))
            if let next = machine.deadline(), next <= now { return problem = "a deadline that has passed" }
        }
        now = until
    }

    private mutating func progress(_ leg: Int, _ status: Int, isFromPhone: Bool) {
        if status < 200, isFromPhone { legs[leg]?.hasResponded = true }
        if status >= 300 { legs[leg] = nil }
        if (200..<300).contains(status) { hasAnswer = true }
        take("leg \(leg) \(status)", machine.progressed(leg: leg, status: status, isFromPhone: isFromPhone, now: now))
    }

    private mutating func endPush(_ device: Int, isAccepted: Bool) {
        outstanding.remove(device)
        take(
            "push \(device) \(isAccepted)", machine.pushEnded(device: device, isAccepted: isAccepted, now: now))
    }

    private mutating func take(_ what: String, _ verbs: [CallVerb]) {
        trace.append("\(now) \(what): \(verbs)")
        for verb in verbs {
            switch verb {
            case .ring(let leg, _, let replacing):
                if let replacing { legs[replacing] = nil }
                legs[leg] = Leg()
            case .close(let leg): legs[leg] = nil
            case .push(let device, .call, _): outstanding.insert(device)
            case .giveUp:
                if !isWaiting { problem = problem ?? "given up twice, or before anything was out" }
                if legs.values.contains(where: \.hasResponded) { problem = problem ?? "given up while a phone is rung" }
                isWaiting = false
            case .resend, .hold, .tell, .ringAndCancel, .push, .dropPush, .note: break
            }
        }
    }
}
