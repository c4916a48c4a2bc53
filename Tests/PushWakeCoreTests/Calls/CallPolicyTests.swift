// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Policy of held requests` {
    @Test func `is by default that of the settings`() {
        #expect(CallPolicy(Settings()) == CallPolicy())
    }

    @Test func `counts in milliseconds, and takes -1 and 0 for never where they mean that`() throws {
        var settings = Settings()
        for (name, value) in [
            ("silent_after", "-1"), ("decline_waits", "-1"), ("push_repeat", "10"), ("push_repeats", "3"),
            ("cancel_when", "always"), ("message_unanswered", "accept"), ("wake_provisional", "none"),
        ] {
            try settings.set(name, to: value)
        }
        let policy = CallPolicy(settings)
        #expect(policy.silentAfter == nil && policy.declineWaits == nil)
        #expect(policy.pushRepeat == 10_000 && policy.pushRepeats == 3)
        #expect(policy.cancelRule == .always && policy.unansweredMessage == 202 && policy.wakeProvisional == 0)

        try settings.set("silent_after", to: "0")
        try settings.set("decline_waits", to: "7")
        #expect(CallPolicy(settings).silentAfter == 0 && CallPolicy(settings).declineWaits == 7000)
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

    @Test(arguments: [
        ("SIP\r\n ;cause=200", CallEnd.completedElsewhere), ("SIP;\r\n\tcause=200", .completedElsewhere),
        ("SIP\n ; cause\r\n = 200", .completedElsewhere), ("Q.850;\r\n cause=16,\r\n SIP ;cause=600", .failed(603)),
        ("Q.850;cause=26", .completedElsewhere), ("Q.850;cause=16", .cancelled),
        ("Q.850;cause=26,SIP;cause=487", .cancelled),
        ("", .cancelled), ("\r\n", .cancelled), ("Q.850;cause=26\"", .completedElsewhere),
    ])
    func `is read from the Reasons of a CANCEL, folded or not`(reason: String, end: CallEnd) {
        #expect(CallEnd(cancelReason: reason) == end)
    }
}

@Suite struct `The devices of a request` {
    private func binding(_ service: TokenUse?, _ token: String, _ provider: Provider = .apns) -> Binding {
        Binding(
            aor: "bob", provider: provider, app: "com.a", service: service, token: token, dialect: .rfc8599,
            instance: "1")
    }

    @Test func `are nothing but tokens where an app reported these, and neither a Contact nor its instance`() {
        func isAlone(_ instance: String, _ contact: String = "") -> [Bool] {
            var binding = binding(nil, "a", .acrobits)
            (binding.instance, binding.contact) = (instance, contact)
            let devices = CallDevices(.call, bindings: [binding], contacts: [], awakeFor: 0).devices
            return devices.map { $0.hasOnlyTokens && $0.instance.isEmpty }
        }
        #expect(isAlone("acrobits:BBBB:2") == [true])
        #expect(isAlone("") == [true])
        #expect(isAlone("<urn:uuid:1>") == [false])
        #expect(isAlone("", "sip:bob@192.0.2.1") == [false])
    }

    @Test func `are none whose phone takes no such request`() {
        func known(_ instance: String, _ reach: CallContact.Reach) -> CallDevices.KnownContact {
            CallDevices.KnownContact(
                uri: "sip:\(reach)", instance: instance, contact: CallContact(key: "\(reach)", reach: reach))
        }
        func devices(_ contacts: CallDevices.KnownContact...) -> [[String]] {
            CallDevices(.chat, bindings: [binding(nil, "a", .fcm)], contacts: contacts, awakeFor: 0).devices
                .map { $0.contacts.map(\.key) }
        }
        #expect(devices(known("1", .refuses)) == [])
        #expect(devices(known("1", .refuses), known("1", .lost)) == [["lost"]])
        #expect(devices(known("2", .refuses)) == [[]])
    }

    @Test func `take notices of a call's end where one of their tokens may have more than calls`() {
        func takes(_ bindings: Binding...) -> [Bool] {
            CallDevices(.call, bindings: bindings, contacts: [], awakeFor: 0).devices.map(\.takesNotices)
        }
        #expect(takes(binding(.voip, "a")) == [false])
        #expect(takes(binding(.voip, "a"), binding(.remote, "b")) == [true])
        #expect(takes(binding(nil, "a")) == [true])
        #expect(takes(binding(nil, "a", .fcm)) == [true])
        #expect(takes(binding(.voip, "a", .acrobits)) == [false])
    }

    /// Ages are whole seconds, cut: 5 may be almost 6.
    @Test(arguments: [
        (0, 5, true), (4, 5, true), (5, 5, false), (-1, 5, false), (0, 0, false), (0, 1, true), (1, 1, false),
    ])
    func `takes a phone for awake that registered less than so many seconds ago`(
        age: Int64, window: Int64, isAwake: Bool
    ) {
        #expect(CallDevices.isFresh(age, window) == isAwake)
    }
}
