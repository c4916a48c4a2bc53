// SPDX-License-Identifier: MIT

/// One fact of a request's trace in 20 bytes; its text, if it has one, stands in the trace's table.
public struct TraceLine: Equatable, Sendable {
    /// What happened.
    public enum Kind: UInt8, Sendable {
        case awake, asleep, plain, delayed, putOff, notPushed, silent, pushed, pushEnded, pushFailed, pushRetried,
            dropped
        case registered, unregistered, rung, resent, progressed, legFailed
        case told, held, copied, resumed, late, endShown, gaveUp, continued, wentOn, ended
        case announced, bindingsLate

        /// For machines.
        public var name: String {
            switch self {
            case .awake: "awake"
            case .asleep: "asleep"
            case .plain: "not-pushable"
            case .delayed: "push-delayed"
            case .putOff: "push-put-off"
            case .notPushed: "not-pushed"
            case .silent: "silent"
            case .pushed: "pushed"
            case .pushEnded: "push-ended"
            case .pushFailed: "push-failed"
            case .pushRetried: "push-retried"
            case .dropped: "push-dropped"
            case .registered: "registered"
            case .unregistered: "unregistered"
            case .rung: "rung"
            case .resent: "resent"
            case .progressed: "answer"
            case .legFailed: "leg-failed"
            case .told: "provisional"
            case .held: "held"
            case .copied: "copied"
            case .resumed: "resumed"
            case .late: "late"
            case .endShown: "end-shown"
            case .gaveUp: "gave-up"
            case .continued: "sent-elsewhere"
            case .wentOn: "went-on"
            case .ended: "ended"
            case .announced: "announced"
            case .bindingsLate: "bindings-late"
            }
        }
    }

    /// No device.
    static let nobody = UInt8.max

    /// Milliseconds since the request began.
    public internal(set) var at: UInt32
    /// Milliseconds that the fact is about: a silence, a pause, how long a provider took.
    public internal(set) var milliseconds: UInt32 = 0
    /// Of SIP, or of HTTP for the end of a push; 0 for none.
    public internal(set) var status: UInt16 = 0
    /// From 1; 0 for none.
    public internal(set) var leg: UInt16 = 0
    /// The leg that this one replaces; 0 for none.
    public internal(set) var replacedLeg: UInt16 = 0
    /// Place in the trace's texts from 1; 0 for none.
    var text: UInt8 = 0
    public internal(set) var kind: Kind
    var device = TraceLine.nobody
    /// Raw value of the push's `PushEvent`.
    var event: UInt8 = 0
    /// Raw value: `Reach` of `awake`, `LimitKey.Setting` of `putOff`, `Kind` of what a push came of, `Outcome` of its end, and so on.
    var detail: UInt8 = 0
    /// The binding is gone with the push; the contact of `pushFailed` is rung; at `gaveUp` legs are still out.
    var flag = false

    /// Packs a note; the trace adds what is text.
    init(_ note: CallNote, at: UInt32) {
        self.at = at
        kind = .ended
        switch note {
        case .awake(let device, let reach): set(.awake, device, detail: reach.rawValue)
        case .asleep(let device): set(.asleep, device)
        case .plain(let device): set(.plain, device)
        case .delayed(let device, let pause): set(.delayed, device, milliseconds: pause)
        case .putOff(let device, let pause, let setting):
            set(.putOff, device, milliseconds: pause)
            detail = setting.rawValue
        case .notPushed(let device, _): set(.notPushed, device)
        case .silent(let device, let time): set(.silent, device, milliseconds: time)
        case .pushed(let device, let event):
            set(.pushed, device)
            self.event = event.rawValue
        case .pushFailed(let device, let hasContact):
            set(.pushFailed, device)
            flag = hasContact
        case .pushRetried(let device): set(.pushRetried, device)
        case .dropped(let device): set(.dropped, device)
        case .registered(let device): set(.registered, device)
        case .announced: set(.announced, nil)
        case .unregistered(let device): set(.unregistered, device)
        case .rung(let device, let leg, _): set(.rung, device, leg: leg)
        case .resent(let device, let leg): set(.resent, device, leg: leg)
        case .progressed(let device, let leg, let status): set(.progressed, device, leg: leg, status: status)
        case .legFailed(let device, let leg, let status): set(.legFailed, device, leg: leg, status: status)
        case .told(let status): set(.told, nil, status: status)
        case .held(let time): set(.held, nil, milliseconds: time)
        case .copied: set(.copied, nil)
        case .resumed: set(.resumed, nil)
        case .bindingsLate(let time): set(.bindingsLate, nil, milliseconds: time)
        case .late(let device): set(.late, device)
        case .endShown(let device): set(.endShown, device)
        case .gaveUp(let status): set(.gaveUp, nil, status: status)
        case .wentOn: set(.wentOn, nil)
        case .continued(let time): set(.continued, nil, milliseconds: time)
        case .ended(let end): set(end)
        }
    }

    /// What a provider made of a push.
    init(_ result: PushResult, device: Int, at: UInt32) {
        self.at = at
        kind = .pushEnded
        set(.pushEnded, device, status: result.httpStatus, milliseconds: result.microseconds / 1000)
        event = result.event.rawValue
        detail = result.outcome.rawValue
        flag = result.isBindingRemoved
    }

    private mutating func set(
        _ kind: Kind, _ device: Int?, leg: Int = 0, status: Int = 0, milliseconds: Int64 = 0, detail: UInt8 = 0
    ) {
        self.kind = kind
        self.device = device.map { UInt8(clamping: min(max($0, 0), 254)) } ?? Self.nobody
        self.leg = UInt16(clamping: leg)
        self.status = UInt16(clamping: status)
        self.milliseconds = UInt32(clamping: milliseconds)
        self.detail = detail
    }

    private mutating func set(_ end: CallEnd) {
        switch end {
        case .answered: set(.ended, nil, detail: 0)
        case .cancelled: set(.ended, nil, detail: 1)
        case .completedElsewhere: set(.ended, nil, detail: 2)
        case .timedOut: set(.ended, nil, detail: 3)
        case .failed(let status): set(.ended, nil, status: status, detail: 4)
        }
    }

    /// Place of the device it is about, from 0.
    public var index: Int? { device == Self.nobody ? nil : Int(device) }

    /// How the request ended; nil for every other line.
    public var end: CallEnd? {
        guard kind == .ended else { return nil }
        return switch detail {
        case 0: .answered
        case 1: .cancelled
        case 2: .completedElsewhere
        case 3: .timedOut
        default: .failed(Int(status))
        }
    }

    /// A phone was left ringing: its host's timer was over, or its host has taken the request back.
    static func isUnanswered(_ status: UInt16) -> Bool { status == 408 || status == 487 }

    /// A leg is over without an answer of 2xx.
    var isRefusal: Bool {
        switch kind {
        case .legFailed: status != CallLeg.merged
        case .progressed: status >= 300
        default: false
        }
    }

    /// How a push ended; nil for every other line.
    public var outcome: Outcome? { kind == .pushEnded ? Outcome(rawValue: detail) : nil }

    /// What a push tells the phone; nil for a line about none.
    public var pushEvent: PushEvent? {
        kind == .pushed || kind == .pushEnded ? PushEvent(rawValue: event) : nil
    }

    /// What a push was sent for: the phone slept, or was silent.
    var cause: Kind? { kind == .pushed && detail > 0 ? Kind(rawValue: detail) : nil }
}
