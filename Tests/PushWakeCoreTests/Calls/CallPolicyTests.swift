// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Policy of held requests` {
    @Test func `is by default that of the settings`() {
        var policy = CallPolicy(Settings())
        #expect(policy.pushesEnd)
        policy.pushesEnd = CallPolicy().pushesEnd
        #expect(policy == CallPolicy())
    }

    @Test func `counts in milliseconds, and takes -1 and 0 for never where they mean that`() throws {
        var settings = Settings()
        for (name, value) in [
            ("silent_after", "-1"), ("decline_waits", "-1"), ("no_answer_waits", "7"), ("push_repeat", "10"),
            ("push_repeats", "3"), ("cancel_when", "always"), ("message_unanswered", "accept"),
            ("wake_provisional", "none"), ("cancel_push", "0"),
        ] {
            try settings.set(name, to: value)
        }
        let policy = CallPolicy(settings)
        #expect(policy.silentAfter == nil && policy.declineWaits == nil)
        #expect(policy.noAnswerWaits == 7000 && policy.pushRepeat == 10_000 && policy.pushRepeats == 3)
        #expect(policy.cancelRule == .always && policy.unansweredMessage == 202)
        #expect(policy.wakeProvisional == 0 && !policy.pushesEnd)

        try settings.set("silent_after", to: "0")
        try settings.set("decline_waits", to: "0")
        #expect(CallPolicy(settings).silentAfter == 0 && CallPolicy(settings).declineWaits == 0)
    }

    @Test(arguments: [
        ("MESSAGE", false, "accept", 202), ("MESSAGE", false, "reject", 480), ("MESSAGE", true, "accept", 504),
        ("INVITE", false, "accept", 480), ("INVITE", true, "accept", 504), ("NOTIFY", false, "accept", 480),
        ("REFER", false, "accept", 480), ("", false, "accept", 480),
    ])
    func `accepts nothing but messages for which nobody wakes`(
        method: String, isInDialog: Bool, setting: String, status: Int
    ) throws {
        var settings = Settings()
        try settings.set("message_unanswered", to: setting)
        #expect(CallPolicy(settings).of(method, isInDialog: isInDialog).unanswered == status)
    }

    @Test(arguments: [
        (CallEnd.answered, "answered", "SIP;cause=200;text=\"Call completed elsewhere\""),
        (.completedElsewhere, "completed elsewhere", "SIP;cause=200;text=\"Call completed elsewhere\""),
        (.cancelled, "cancelled", "SIP;cause=487;text=\"Request Terminated\""),
        (.timedOut, "timed out", "SIP;cause=480;text=\"Temporarily Unavailable\""),
        (.failed(603), "failed with 603", "SIP;cause=603"),
    ])
    func `names every end, for people and in a Reason`(end: CallEnd, name: String, reason: String) {
        #expect(end.name == name)
        #expect(end.reasonHeader == reason)
    }
}
