// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// What happens to a call or a message between its arrival and its end.
    static let calls: [SettingDescription] = [
        .init(
            .wakeTimeout, "wake_timeout", .integer(1...600), "40", unit: "s", example: "30",
            "How long a call waits for a sleeping phone. It is also the time to live of the push."
        ),
        .init(
            .wakeRequests, "wake_requests", .methods, "INVITE, MESSAGE, REFER, NOTIFY", example: "INVITE, MESSAGE",
            "Requests outside of a dialog that wake phones. NOTIFY: only for message-summary, the notice of a mailbox. You may add OPTIONS, SUBSCRIBE, PUBLISH and INFO: they make a phone register and show nothing. Requests other than INVITE are held for 20 s at most."
        ),
        .init(
            .silentAfter, "silent_after", .integer(-1...60_000), "1500", unit: "ms", example: "3000",
            "A phone that got the INVITE or the text and has not answered for this long, not even with 100 Trying, is pushed as well: its app may be suspended behind an open connection. 0: push and ring it at once. -1: never."
        ),
        .init(
            .awakeFor, "awake_for", .integer(0...3600), "0", unit: "s", example: "20",
            "A phone that registered within so many seconds counts as awake and is not pushed. 0: only an open connection counts."
        ),
        .init(
            .wait, "wait", .choice(["dialplan", "leg"]), "leg", takesRestart: true,
            "What wakes phones in Asterisk. leg: whatever dials them, such as `Dial(PJSIP/100)` or a queue. dialplan: only a `Dial()` for which the dialplan has called `PushWake()`. Read when the module is loaded. Kamailio has a parameter of its own of this name."
        ),
        .init(
            .ringAll, "ring_all", .flag, "0",
            "1: a call that Asterisk dials plainly, such as `Dial(PJSIP/100)`, rings all phones of the user that are awake or wake, and the first answer wins. 0: one after the other. Kamailio always rings all."
        ),
        .init(
            .wakeProvisional, "wake_provisional", .choice(["110", "180", "182", "183", "none"]), "110",
            "What the caller gets while all phones sleep, once a push was accepted: 110 Push Sent, 180 Ringing (ringback), 182 Queued, 183 Session Progress, or nothing but 100."
        ),
        .init(
            .declineWaits, "decline_waits", .integer(-1...600), "5", unit: "s", example: "10",
            "When a user has declined (486 after ringing), or nobody took a phone that rang (fr_inv_timer ended, or the phone said 408 or 480), and no phone rings: how long to wait for those that still sleep before the caller gets the answer, or failure_route runs. An error of one phone (404, 480 without ringing, 488, 500) does not count. 0: do not wait. -1: until wake_timeout."
        ),
        .init(
            .pushRepeat, "push_repeat", .integer(0...600), "0", unit: "s", example: "10",
            "Push again after this time to a phone that was pushed for a call and has not registered. 0: never."
        ),
        .init(
            .pushRepeats, "push_repeats", .integer(1...20), "2", example: "3",
            "How often push_repeat repeats a push at most."
        ),
        .init(
            .unansweredMessage, "message_unanswered", .choice(["reject", "accept"]), "reject",
            "What the sender of a MESSAGE gets when no phone woke for it. reject: 480. accept: 202, for a failure_route[PUSHWAKE] that stores it (msilo)."
        ),
        .init(
            .cancelWhen, "cancel_when", .choice(CallPolicy.CancelRule.allCases.map(\.rawValue)), "unanswered",
            "Which phones are told by push that the caller has hung up. unanswered: phones that were pushed and have sent nothing over SIP. pushed: all that were pushed. always: all that can be pushed. never: none; then no phone is told how a call ended. Nothing is sent to a PushKit token."
        ),
        .init(
            .voicemailUrgent, "voicemail_urgent", .flag, "0",
            "1: the notice of a mailbox wakes a phone at once, as a message does. 0: the provider may deliver it when the phone is awake for another reason."
        ),
    ]
}
