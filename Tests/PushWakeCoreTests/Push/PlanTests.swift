// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Plan of pushes` {
    private func plan(_ event: PushEvent, _ bindings: [Binding], awake: Set<Int> = []) -> Plan {
        Plan(event, bindings, isAwake: bindings.indices.map { awake.contains($0) })
    }

    @Test func `sends a call to the PushKit token and nothing to the remote one`() {
        let plan = plan(.call, [Samples.remote, Samples.voip])
        #expect(plan.pushes == [.init(index: 1, type: .voip, delay: 0)])
        #expect(plan.skipped == [.init(index: 0, reason: .otherToken)])
    }

    @Test(arguments: [PushEvent.chat, .groupChat, .missed, .custom, .voicemail, .refer])
    func `sends anything else to the remote token as an alert`(event: PushEvent) {
        let plan = plan(event, [Samples.remote, Samples.voip])
        #expect(plan.pushes == [.init(index: 0, type: .alert, delay: 0)])
        #expect(plan.skipped == [.init(index: 1, reason: .otherToken)])
    }

    @Test(arguments: [PushEvent.cancel, .answeredElsewhere])
    func `tells a phone that rings through CallKit silently that it is over`(event: PushEvent) {
        #expect(plan(event, [Samples.remote, Samples.voip]).pushes.map(\.type) == [.background])
        #expect(plan(event, [Samples.remote]).pushes.map(\.type) == [.alert])
    }

    @Test(arguments: PushEvent.allCases.filter { $0 != .call })
    func `gives a PushKit token nothing but calls`(event: PushEvent) {
        let plan = plan(event, [Samples.voip])
        #expect(plan.pushes.isEmpty)
        #expect(plan.skipped == [.init(index: 0, reason: .voipTokenOnly)])
    }

    @Test func `names the setting where the phone did not say that its token is PushKit's`() {
        var binding = Samples.untyped
        binding.service = .voip
        #expect(plan(.chat, [binding]).skipped == [.init(index: 0, reason: .countsAsVoIP)])
        #expect(plan(.call, [binding]).pushes == [.init(index: 0, type: .voip, delay: 0)])
    }

    @Test func `rings a phone with a remote token only by an alert`() {
        #expect(plan(.call, [Samples.remote]).pushes == [.init(index: 0, type: .alert, delay: 0)])
    }

    @Test(arguments: [(PushEvent.call, APNsPushType.voip), (.chat, .alert), (.refresh, .background)])
    func `treats a token of unknown kind as Mizutech does`(event: PushEvent, type: APNsPushType) {
        #expect(plan(event, [Samples.untyped]).pushes == [.init(index: 0, type: type, delay: 0)])
    }

    @Test(
        arguments: [
            (PushEvent.call, APNsPushType.alert, [0], [APNsPushType.alert]), (.call, .background, [0], [.background]),
            (.call, .voip, [1], [.voip]), (.cancel, .alert, [0], [.alert]), (.chat, .voip, [], []),
        ] as [(PushEvent, APNsPushType, [Int], [APNsPushType])])
    func `takes the type that was asked for, and the token that may have it`(
        event: PushEvent, wanted: APNsPushType, indices: [Int], types: [APNsPushType]
    ) {
        let plan = Plan(event, [Samples.remote, Samples.voip], isAwake: [false, false], wanted: wanted)
        #expect(plan.pushes.map(\.index) == indices)
        #expect(plan.pushes.map(\.type) == types)
        #expect(plan.pushes.count + plan.skipped.count == 2)
    }

    @Test func `says that a token may not have the type that was asked for`() {
        let remote = Plan(.call, [Samples.remote], isAwake: [false], wanted: .voip)
        #expect(remote.skipped == [.init(index: 0, reason: .otherType)])
        let voip = Plan(.call, [Samples.voip], isAwake: [false], wanted: .background)
        #expect(voip.skipped == [.init(index: 0, reason: .otherType)])
        let android = Plan(.call, [Samples.android], isAwake: [false], wanted: .voip)
        #expect(android.pushes == [.init(index: 0, type: nil, delay: 0)])
    }

    @Test(arguments: PushEvent.allCases, [TokenUse.complication, .fileProvider, .pushToTalk])
    func `gives nothing to a token that is for neither calls nor messages`(event: PushEvent, service: TokenUse) {
        var binding = Samples.voip
        binding.service = service
        #expect(plan(event, [binding]).skipped == [.init(index: 0, reason: .otherUse)])
        #expect(Plan(event, [binding], isAwake: [false], wanted: .alert).pushes.isEmpty)
    }

    @Test func `pushes in the order of the bindings, whichever of them are one device's`() {
        let plan = plan(.call, [Samples.remote, Samples.android, Samples.voip])
        #expect(plan.pushes.map(\.index) == [1, 2])
    }

    @Test func `pushes every device once`() {
        let plan = plan(.call, [Samples.voip, Samples.android, Samples.remote, Samples.untyped])
        #expect(plan.pushes.map(\.index) == [0, 1, 3])
        #expect(plan.skipped == [.init(index: 2, reason: .otherToken)])
    }

    @Test func `leaves a phone alone that is awake, with all its tokens`() {
        let plan = plan(.call, [Samples.voip, Samples.android, Samples.remote], awake: [2])
        #expect(plan.pushes.map(\.index) == [1])
        #expect(plan.skipped == [.init(index: 0, reason: .awake), .init(index: 2, reason: .awake)])
    }

    @Test func `prefers any provider that wakes over an Apple alert for a call, and not for a message`() {
        var android = Samples.android
        android.instance = Samples.remote.instance
        #expect(plan(.call, [Samples.remote, android]).pushes.map(\.index) == [1])
        #expect(plan(.chat, [Samples.remote, android]).pushes.map(\.index) == [0])
    }

    @Test func `prefers the token that was registered last`() {
        var old = Samples.android
        var new = Samples.android
        (old.registeredAt, new.registeredAt) = (100, 200)
        new.token = "new"
        #expect(plan(.call, [old, new]).pushes.map(\.index) == [1])
    }

    @Test func `pushes a token once that is registered under two contacts`() {
        var other = Samples.android
        (other.instance, other.contact) = ("", "sip:bob@203.0.113.7")
        let plan = plan(.call, [Samples.android, other])
        #expect(plan.pushes.map(\.index) == [0])
        #expect(plan.skipped == [.init(index: 1, reason: .sameToken)])
    }

    @Test(arguments: [
        ("5", Int64(5000)), ("0", 0), ("-3", 0), ("x", 0), ("5abc", 0), ("99999999999999999999", 0), ("86400", 600_000),
    ])
    func `waits as long as the phone asked for`(attribute: String, delay: Int64) {
        var binding = Samples.android
        binding.attributes["pn-timeout"] = attribute
        #expect(plan(.call, [binding]).pushes.map(\.delay) == [delay])
    }

    @Test func `gives each Acrobits token what it is for`() {
        var calls = Binding(provider: .acrobits, app: "com.a", service: .voip, token: "c", dialect: .acrobitsTuple)
        var other = Binding(provider: .acrobits, app: "com.a", service: .remote, token: "o", dialect: .acrobitsTuple)
        (calls.instance, other.instance) = ("i", "i")
        #expect(plan(.call, [calls, other]).pushes.map(\.index) == [0])
        #expect(plan(.missed, [calls, other]).pushes.map(\.index) == [1])
        #expect(plan(.missed, [calls]).skipped == [.init(index: 0, reason: .callTokenOnly)])
        #expect(plan(.call, [other]).skipped == [.init(index: 0, reason: .notForCalls)])
        #expect(plan(.refresh, [other]).skipped == [.init(index: 0, reason: .noSuchPush)])
    }

    @Test func `survives a list of wakefulness that is too short`() {
        #expect(Plan(.call, [Samples.android, Samples.voip], isAwake: [true]).pushes.map(\.index) == [1])
        #expect(Plan(.call, [], isAwake: []).pushes.isEmpty)
    }
}
