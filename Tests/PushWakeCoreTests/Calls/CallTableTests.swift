// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

/// Every event in every state that one device can be in. What the table leaves out changes nothing.
@Suite struct `One device in a held call` {
    enum State: CaseIterable {
        /// Pushed; what became of the push is not known yet.
        case pushing
        /// Its push was accepted.
        case pushed
        /// Its push failed: leg 1 is out to the known contact.
        case unpushed
        /// Awake: leg 1 is out.
        case rung
        /// Awake and silent: leg 1 is out, the push under way.
        case silent
        /// The same, the push accepted.
        case silentPushed
        /// Pushed, and registered since: leg 1 is out.
        case woken
        case trying
        case alerting
        case answered
        case declined
        case leftRinging
        /// It came after its push, and leg 1 failed.
        case lost
        case cancelled
    }

    enum Event: CaseIterable {
        case says100, says180, says200, says486, says603
        /// The host gives leg 1 up.
        case legFails
        case registersAgain
        case registersOtherAddress
        case registersOtherFlow
        case registersAnew
        case leaves
        case pushAccepted
        case pushFailed
        /// Two seconds pass.
        case silence
        /// The time of `wake_timeout` passes.
        case timeOver
        case callerCancels
        case answeredElsewhere
        case allFailed
    }

    static let table: [State: [Event: String]] = [
        .pushing: [
            .registersAgain: "ring 1 a1, drop 0, give up 480",
            .registersOtherAddress: "ring 1 a2, drop 0, give up 480",
            .registersOtherFlow: "ring 1 a1, drop 0, give up 480",
            .registersAnew: "ring 1 a1, drop 0, give up 480",
            .pushFailed: "ring 1 a1, give up 480",
            .timeOver: "drop 0, give up 480",
            .callerCancels: "drop 0",
            .answeredElsewhere: "drop 0",
            .allFailed: "drop 0",
        ],
        .pushed: [
            .registersAgain: "ring 1 a1, give up 480",
            .registersOtherAddress: "ring 1 a2, give up 480",
            .registersOtherFlow: "ring 1 a1, give up 480",
            .registersAnew: "ring 1 a1, give up 480",
            .timeOver: "give up 480",
            .callerCancels: "push 0 cancel",
            .answeredElsewhere: "push 0 elsewhere",
            .allFailed: "push 0 missed",
        ],
        .unpushed: [
            .legFails: "give up 480",
            .registersAgain: "resend 1",
            .registersOtherFlow: "ring 2 a1",
            .registersAnew: "resend 1",
            .timeOver: "close 1, give up 480",
        ],
        .rung: [
            .legFails: "push 0 call, hold",
            .registersAgain: "resend 1",
            .registersOtherFlow: "ring 2 a1",
            .registersAnew: "resend 1",
            .silence: "push 0 call, hold",
            .timeOver: "push 0 call, hold, drop 0, close 1, give up 480",
        ],
        .silent: [
            .says100: "give up 480",
            .says180: "drop 0, give up 480",
            .says200: "drop 0",
            .says486: "drop 0, give up 480",
            .says603: "drop 0, give up 480",
            .registersAgain: "resend 1, drop 0",
            .registersOtherAddress: "ring 2 a2, drop 0, give up 480",
            .registersOtherFlow: "ring 2 a1, drop 0, give up 480",
            .registersAnew: "resend 1, drop 0",
            .pushFailed: "give up 480",
            .timeOver: "drop 0, close 1, give up 480",
            .callerCancels: "drop 0",
            .answeredElsewhere: "drop 0",
            .allFailed: "drop 0",
        ],
        .silentPushed: [
            .says100: "give up 480",
            .says180: "give up 480",
            .says486: "give up 480",
            .says603: "give up 480",
            .registersAgain: "resend 1",
            .registersOtherAddress: "ring 2 a2, give up 480",
            .registersOtherFlow: "ring 2 a1, give up 480",
            .registersAnew: "resend 1",
            .timeOver: "close 1, give up 480",
            .callerCancels: "push 0 cancel",
            .answeredElsewhere: "push 0 elsewhere",
            .allFailed: "push 0 missed",
        ],
        .woken: [
            .legFails: "hold",
            .registersAgain: "resend 1",
            .registersOtherFlow: "ring 2 a1",
            .registersAnew: "resend 1",
            .timeOver: "close 1, give up 480",
        ],
        .trying: [
            .legFails: "hold",
            .registersOtherFlow: "ring 2 a1",
            .registersAnew: "",
        ],
        .alerting: [
            .registersAnew: ""
        ],
        .answered: [:],
        .declined: [:],
        .leftRinging: [:],
        .lost: [
            .registersAgain: "ring 2 a1, give up 480",
            .registersOtherAddress: "ring 2 a2, give up 480",
            .registersOtherFlow: "ring 2 a1, give up 480",
            .registersAnew: "ring 2 a1, give up 480",
            .timeOver: "give up 480",
            .callerCancels: "push 0 cancel",
            .answeredElsewhere: "push 0 elsewhere",
            .allFailed: "push 0 missed",
        ],
        .cancelled: [
            .registersAgain: "show end a1 cause=487",
            .registersOtherAddress: "show end a2 cause=487",
            .registersOtherFlow: "show end a1 cause=487",
            .registersAnew: "show end a1 cause=487",
        ],
    ]

    @Test(arguments: State.allCases, Event.allCases)
    func `does in every state what the table says of every event`(state: State, event: Event) {
        Self.play(event, in: Self.call(in: state), Self.table[state]?[event] ?? "")
    }

    /// A call whose only device is in this state; it shows calls at once, and its contact is a1.
    static func call(in state: State) -> HeldCall {
        let device = CallDevice.asleep("a", .udp("a1")).with {
            $0.showsCallAtOnce = true
            $0.isAwake = [.rung, .silent, .silentPushed].contains(state)
        }
        let call = HeldCall(device).start(nil)
        switch state {
        case .pushing, .rung: break
        case .pushed: call.accept()
        case .unpushed: call.refuse(0, "ring 1 a1, give up 480")
        case .silent: call.wait(1500, "push 0 call, hold")
        case .silentPushed: call.wait(1500, "push 0 call, hold").accept()
        case .woken, .trying, .alerting, .answered, .declined, .leftRinging, .lost, .cancelled:
            call.accept().register("a", at: .udp("a1"), "ring 1 a1, give up 480")
        }
        switch state {
        case .trying: call.hear(100)
        case .alerting: call.hear(180)
        case .answered: call.hear(200)
        case .declined: call.hear(486)
        case .leftRinging: call.hear(180).fail()
        case .lost: call.fail(408, "hold")
        case .cancelled: call.fail(408, "hold").end(.cancelled, "push 0 cancel")
        case .pushing, .pushed, .unpushed, .rung, .silent, .silentPushed, .woken: break
        }
        return call
    }

    static func play(_ event: Event, in call: HeldCall, _ verbs: String) {
        switch event {
        case .says100: call.hear(100, verbs)
        case .says180: call.hear(180, verbs)
        case .says200: call.hear(200, verbs)
        case .says486: call.hear(486, verbs)
        case .says603: call.hear(603, verbs)
        case .legFails: call.fail(408, verbs)
        case .registersAgain: call.register("a", at: .udp("a1"), verbs)
        case .registersOtherAddress: call.register("a", at: .udp("a2"), verbs)
        case .registersOtherFlow: call.register("a", at: .udp("a1", flow: "new"), verbs)
        case .registersAnew: call.register("a", at: .udp("a1", run: "run 2"), verbs)
        case .leaves: call.unregister("a1", verbs)
        case .pushAccepted: call.accept(0, verbs)
        case .pushFailed: call.refuse(0, verbs)
        case .silence: call.wait(2000, verbs)
        case .timeOver: call.wait(40_000, verbs)
        case .callerCancels: call.end(.cancelled, verbs)
        case .answeredElsewhere: call.end(.answered, verbs)
        case .allFailed: call.end(.failed(480), verbs)
        }
    }
}
