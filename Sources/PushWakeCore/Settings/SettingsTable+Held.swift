// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// What happens to a request between its arrival and its end.
    static func heldRow(_ key: SettingKey) -> SettingDescription? {
        switch key {
        case .wait:
            .init(
                "wait", .choice(["dialplan", "leg"]), "dialplan",
                "What wakes phones in Asterisk. dialplan: `PushWake()` of the dialplan. leg: whatever dials them, such as `Dial(PJSIP/100)` or a queue, in a dialplan without `PushWake()`. Read when the module is loaded. Kamailio does not use it."
            )
        case .silentAfter:
            .init(
                "silent_after", .integer(-1...60_000), "1500", unit: "ms",
                "A phone that got the INVITE or the text and has not answered for this long, not even with 100 Trying, is pushed as well: its app may be suspended behind an open connection. 0: push and ring it at once. -1: never."
            )
        case .wakeProvisional:
            .init(
                "wake_provisional", .choice(["110", "180", "182", "183", "none"]), "110",
                "What the caller gets while all phones sleep, once a push was accepted: 110 Push Sent, 180 Ringing (ringback), 182 Queued, 183 Session Progress, or nothing but 100."
            )
        case .declineWaits:
            .init(
                "decline_waits", .integer(-1...600), "5", unit: "s",
                "When a user has declined (486 after ringing) and no phone rings: how long to wait for those that still sleep before the caller gets the answer, or failure_route runs. An error of one phone (404, 480, 488, 500) does not count. 0: do not wait. -1: until wake_timeout."
            )
        case .noAnswerWaits:
            .init(
                "no_answer_waits", .integer(-1...600), "5", unit: "s",
                "The same when nobody took a phone that rang: fr_inv_timer ended, or the phone said 408 or 480.")
        case .pushRepeat:
            .init(
                "push_repeat", .integer(0...600), "0", unit: "s",
                "Push again after this time to a phone that was pushed for a call and has not registered. 0: never.")
        case .pushRepeats:
            .init(
                "push_repeats", .integer(1...20), "2",
                "How often push_repeat repeats a push at most.")
        case .unansweredMessage:
            .init(
                "message_unanswered", .choice(["reject", "accept"]), "reject",
                "What the sender of a MESSAGE gets when no phone woke for it. reject: 480. accept: 202, for a failure_route[PUSHWAKE] that stores it (msilo)."
            )
        case .cancelWhen:
            .init(
                "cancel_when", .choice(CallPolicy.CancelRule.allCases.map(\.rawValue)), "unanswered",
                "Which phones get a push when the caller hangs up. unanswered: phones that were pushed and have sent nothing over SIP. pushed: all that were pushed. always: all that can be pushed."
            )
        default: nil
        }
    }
}
