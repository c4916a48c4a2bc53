// SPDX-License-Identifier: MIT

/// One device of the user that a request is for: its contacts, and whether a push can wake it.
///
/// A contact that no binding knows is a device of its own that cannot be pushed.
public struct CallDevice: Equatable, Sendable {
    /// `+sip.instance` without quotes; empty when the device sent none.
    public var instance: String
    /// Its push tokens, by which it is known again where it sends no instance.
    public var tokens: [String]
    /// The newest first.
    public var contacts: [CallContact]
    /// It would take a request now: it has just registered, or its connection is open.
    public var isAwake: Bool
    /// A push can be sent to it for this event.
    public var canBePushed: Bool
    /// Its provider answers; when it does not, a push may come too late to wait for it.
    public var isProviderHealthy: Bool
    /// Milliseconds for which the phone wants to be left to the request itself (`pn-timeout`).
    public var pushDelay: Int64
    /// The push makes it show a call at once (PushKit), which only SIP can take back.
    public var showsCallAtOnce: Bool
    /// A push can tell it how a call ended; a device with nothing but a PushKit token gets calls alone.
    public var takesNotices: Bool
    /// Its tokens are all that is known of it: they came without a REGISTER, and what it registers does not name them.
    public var isTokensAlone: Bool

    public init(
        instance: String = "", tokens: [String] = [], contacts: [CallContact] = [], isAwake: Bool = false,
        canBePushed: Bool = false, isProviderHealthy: Bool = true, pushDelay: Int64 = 0, showsCallAtOnce: Bool = false,
        takesNotices: Bool = true, isTokensAlone: Bool = false
    ) {
        self.instance = instance
        self.tokens = tokens
        self.contacts = contacts
        self.isAwake = isAwake
        self.canBePushed = canBePushed
        self.isProviderHealthy = isProviderHealthy
        self.pushDelay = pushDelay
        self.showsCallAtOnce = showsCallAtOnce
        self.takesNotices = takesNotices
        self.isTokensAlone = isTokensAlone
    }
}

/// A device that has registered, or left, while a request is held for its user.
public struct CallRegistration: Equatable, Sendable {
    /// `+sip.instance` without quotes.
    public var instance: String
    public var tokens: [String]
    public var contact: CallContact

    public init(instance: String = "", tokens: [String] = [], contact: CallContact) {
        self.instance = instance
        self.tokens = tokens
        self.contact = contact
    }
}

/// One contact of a user, as the host's registrar has it.
public struct CallContact: Equatable, Sendable {
    /// What sending to a contact takes; raw values are `enum pushwake_reach`.
    public enum Reach: UInt8, Sendable {
        /// No connection is needed, or none is known of.
        case datagram = 0
        /// Its connection is open.
        case open = 1
        /// Its connection is gone, but its address may take another one.
        case closed = 2
        /// Its connection is gone, and nobody but the phone can open another one.
        case lost = 3
    }

    /// The host's name for it; no two contacts of a user share one.
    public var key: String
    /// Where requests to it go, push parameters or not; a registrar may keep the key while a device changes it. Empty when
    /// not known.
    public var address: String
    /// Path by which they go there (RFC 3327). Behind an edge proxy it alone may change when a phone comes back, through
    /// another one or over another connection of the same (RFC 5626, 5.1).
    public var path: String
    /// The address and transport that its REGISTER came from, or anything else that changes with them; empty when
    /// the host does not know.
    public var flow: String
    /// Call-ID of its REGISTER: a phone keeps it until it starts anew (RFC 3261, 10.2).
    public var registrationID: String
    /// `reg-id` of its REGISTER: a device that has several flows gives each its own, and the same one again whenever it
    /// opens that flow anew (RFC 5626, 4.2). 0: it said none, or the host does not know.
    public var flowNumber: UInt32
    public var reach: Reach
    /// Seconds since its REGISTER; -1 when not known.
    public var age: Int64
    /// A proxy stands before the phone: a 100 is that proxy's.
    public var isBehindProxy: Bool
    /// Another node has its connection: some answers are that node's, about the way to the phone.
    public var isElsewhere: Bool

    public init(
        key: String, address: String = "", path: String = "", flow: String = "", registrationID: String = "",
        flowNumber: UInt32 = 0, reach: Reach = .datagram, age: Int64 = -1, isBehindProxy: Bool = false,
        isElsewhere: Bool = false
    ) {
        self.key = key
        self.address = address
        self.path = path
        self.flow = flow
        self.registrationID = registrationID
        self.flowNumber = flowNumber
        self.reach = reach
        self.age = age
        self.isBehindProxy = isBehindProxy
        self.isElsewhere = isElsewhere
    }

    /// A request to either goes to the same place.
    func isSamePlace(as other: CallContact) -> Bool {
        guard key == other.key, path == other.path else { return false }
        return Binding.isSame(address, as: other.address)
    }

    /// A request to either takes the same way. Where a registrar keeps no source of a REGISTER, datagrams go to the
    /// address alone.
    func isSameFlow(as other: CallContact) -> Bool {
        if !flow.isEmpty && !other.flow.isEmpty { return flow == other.flow }
        return reach == .datagram && other.reach == .datagram && isSamePlace(as: other)
    }

    /// Its REGISTER belongs to the same run of the app, as far as is known.
    func isSameRun(as other: CallContact) -> Bool {
        registrationID.isEmpty || other.registrationID.isEmpty || registrationID == other.registrationID
    }

    /// Both are flows that one device has side by side (RFC 5626).
    func isBeside(_ other: CallContact) -> Bool {
        flowNumber > 0 && other.flowNumber > 0 && flowNumber != other.flowNumber
    }

    /// Nothing is new about it but its time: the same place, flow and run.
    func isRefresh(of other: CallContact) -> Bool {
        isSamePlace(as: other) && isSameFlow(as: other) && !registrationID.isEmpty
            && registrationID == other.registrationID
    }

    /// Neither node nor proxy stands before the phone.
    var isDirect: Bool { !isElsewhere && !isBehindProxy }

    /// Whether an answer that came over the network is the phone's own. A node or an edge proxy that cannot reach it says
    /// so: timeout, no flow (RFC 5626, 5.3.1), no connection (Kamailio's 477 and 478), no room, or that it is out of order.
    func speaksItself(_ status: Int) -> Bool {
        isDirect || ![408, 430, 477, 478, 479, 500, 503].contains(status)
    }

    /// Sending to it needs nothing that the phone would have to do first.
    var canBeRung: Bool { reach != .lost }
}

/// Where one device stands in one request.
struct DeviceState {
    /// How far its leg has come.
    enum Heard: Int, Comparable {
        case nothing
        case trying
        case alerting

        /// 0 for no answer.
        init(status: Int) { self = status <= 0 ? .nothing : status == 100 ? .trying : .alerting }

        static func < (a: Heard, b: Heard) -> Bool { a.rawValue < b.rawValue }
    }

    /// The request as it is out to the device now.
    struct Leg: Equatable {
        let number: Int
        var contact: CallContact
        var since: Int64
        /// When its contact was named to the host.
        let openedAt: Int64
        /// False until a dialplan, or the script of a serial call, comes to it.
        var isSent = true
        var heard = Heard.nothing
    }

    /// Where it has registered while its leg may still be answered, and when that leg is replaced.
    struct Replacement: Equatable {
        let contact: CallContact
        let at: Int64
    }

    /// Where the push for the request stands.
    enum Push: Equatable {
        case none
        case underway
        /// It is not needed any more; its outcome will say whether it had left.
        case dropped
        /// `repeatAt`: when it is pushed again if it stays away.
        case accepted(repeatAt: Int64?)
        case failed
    }

    var device: CallDevice
    /// Of two legs the one that was heard more of, or else the newer one.
    var leg: Leg?
    /// The device has registered elsewhere, and which of its two legs it takes is not known yet.
    var otherLeg: Leg?
    var push = Push.none
    /// Pushes sent for the request.
    var pushes = 0
    /// The leg that was out when it was pushed last, 0 for none: a later one went to where the device is now.
    var legAtPush = 0
    /// When it was pushed first.
    var pushedAt: Int64?
    /// A provider has taken one.
    var wasPushed = false
    /// No connection to its provider can be had for the push that is under way.
    var isUnreachable = false
    /// When it counts as silent.
    var silentAt: Int64?
    var replacement: Replacement?
    /// Its legs so far, and when the last one was opened.
    private var legCount = 0
    private var legOpenedAt: Int64 = 0
    /// It has answered with a final code other than 2xx, or was left ringing.
    var hasDeclined = false
    var isAnswered = false
    /// It came for a push, and said nothing to the leg that it got.
    var wasSilent = false
    /// It has been shown the end by `ringAndCancel`.
    var knowsEnd = false
    /// Its binding is gone, and no push may reach it any more.
    var isUnbound = false
    /// When it is given up on for that.
    var leavesAt: Int64?
    var failedKeys: [String] = []

    init(_ device: CallDevice) { self.device = device }

    /// A provider has taken its push, and nothing else is known of it: it is whoever registers and is no other device.
    static var nameless: DeviceState {
        var state = DeviceState(CallDevice())
        state.push = .accepted(repeatAt: nil)
        state.wasPushed = true
        return state
    }

    var isNameless: Bool {
        wasPushed && leg == nil && device.contacts.isEmpty && device.tokens.isEmpty && device.instance.isEmpty
    }

    /// Its tokens are all that is known of it.
    var isTokensAlone: Bool {
        device.isTokensAlone && device.contacts.isEmpty && leg == nil && !isAnswered && !hasDeclined
    }

    /// A phone of which no token is known; not one that another has turned out to be.
    var isPlainPhone: Bool { device.tokens.isEmpty && !isNameless && !(device.contacts.isEmpty && leg == nil) }

    /// The phone has the request, and says so.
    var hasSpoken: Bool { isAnswered || hasDeclined || (leg?.heard ?? .nothing) > .nothing }

    /// Another device has turned out to be this one: its contacts and its leg are this one's.
    mutating func takeOver(_ other: inout DeviceState) {
        device.instance = other.device.instance
        device.contacts = other.device.contacts
        (leg, otherLeg, replacement) = (other.leg, other.otherLeg, other.replacement)
        failedKeys += other.failedKeys
        other = DeviceState(CallDevice())
    }

    /// Where a request can go without the phone's help, the best one first: nil when it has to come by itself.
    var reachable: CallContact? {
        var best: Int?
        for index in device.contacts.indices
        where device.contacts[index].canBeRung && !failedKeys.contains(device.contacts[index].key) {
            if device.contacts[index].reach == .open { return device.contacts[index] }
            if best == nil { best = index }
        }
        return best.map { device.contacts[$0] }
    }

    /// A push may still bring it.
    var isAwaited: Bool {
        // Fields one by one: a leg that is bound to a name is copied, with all texts of its contact.
        @inline(__always) get {
            guard !hasDeclined, !isAnswered else { return false }
            let heard = leg?.heard
            if heard == nil, replacement != nil { return true }
            // Whether it is still connected there, its node will say.
            if heard == .nothing, leg?.contact.isElsewhere == true { return true }
            switch push {
            case .none, .failed: return false
            case .underway, .dropped, .accepted: if isUnbound, leavesAt == nil { return false }
            }
            return heard == nil || heard == .nothing && leg?.number == legAtPush
        }
    }

    /// Milliseconds for which an app that a push has woken is there for its request, at the least.
    private static let attention: Int64 = 1000

    /// A push is of use when its leg brings nothing: it was not pushed, or came for its push, and the host came to its leg so
    /// much later that the app may be suspended again (an announcement between, or phones that are rung in turn).
    func needsPush(for leg: Leg) -> Bool {
        guard device.canBePushed, !isUnbound else { return false }
        switch push {
        case .none: return true
        case .accepted:
            return leg.heard == .nothing && leg.number != legAtPush && leg.since - leg.openedAt >= Self.attention
        case .underway, .dropped, .failed: return false
        }
    }

    /// Milliseconds within which a phone that is there says something.
    static let silence: Int64 = 5000

    /// It came for a push, and has said nothing since.
    func isSilent(_ now: Int64) -> Bool {
        guard wasPushed, !isAnswered, !hasDeclined else { return false }
        return hasLeg ? now >= lostAt : wasSilent
    }

    /// When its leg counts as lost: nothing else brings the phone any more, since it came for its push or no provider took one,
    /// and it said nothing to what it was sent since. A proxy or a node before the phone may take its time.
    var lostAt: Int64 {
        guard !isAnswered, !hasDeclined, let since = leg?.since, leg?.isSent == true, leg?.heard == .nothing,
            cannotBePushed || wasPushed && leg?.number != legAtPush, leg?.contact.isDirect == true
        else { return .max }
        return since + Self.silence
    }

    /// No provider has taken its push, and it is not sent again.
    var cannotBePushed: Bool { push == .failed }

    /// Nothing is on its way to it, and perhaps nothing will be.
    var isUnlikelyToWake: Bool {
        @inline(__always) get { isUnreachable && push == .underway && !hasLeg && replacement == nil }
    }

    var hasLeg: Bool {
        @inline(__always) get { leg?.number != nil }
    }

    /// When something has to be done for it; `.max` for never.
    var deadline: Int64 {
        var next = min(silentAt ?? .max, replacement?.at ?? .max)
        if case .accepted(let at?) = push { next = min(next, at) }
        if let leavesAt { next = min(next, leavesAt) }
        return next
    }

    /// Legs that a device gets as fast as it registers.
    private static let quickLegs = 6

    /// When it may get another leg because it has registered. Each one costs its host a branch, or a channel and a `Dial()`
    /// within another one, and who registers from new ports all the time gets them more and more slowly.
    var nextLegAt: Int64 {
        guard legCount >= Self.quickLegs else { return .min }
        return legOpenedAt + (1000 << Int64(min(legCount - Self.quickLegs, 4)))
    }

    /// Another connection of the device, when one of several is gone (RFC 5626, 5.3).
    var nextFlow: CallContact? { reachable.flatMap { $0.reach == .open ? $0 : nil } }

    mutating func openLeg(_ number: Int, _ contact: CallContact, _ now: Int64, isSent: Bool = true) {
        leg = Leg(number: number, contact: contact, since: now, openedAt: now, isSent: isSent)
        silentAt = nil
        replacement = nil
        legCount += 1
        legOpenedAt = now
    }

    /// `hasFailed`: its contact is not tried again.
    mutating func closeLeg(hasFailed: Bool = true) {
        if hasFailed, let leg { failedKeys.append(leg.contact.key) }
        leg = nil
        otherLeg = nil
        silentAt = nil
        replacement = nil
    }
}

extension CallMachine {
    /// Asks a device in its place: one that is only read is copied, with a count for each of its texts.
    @inline(__always)
    mutating func ask<Answer>(_ index: Int, _ question: (inout DeviceState) -> Answer) -> Answer {
        question(&devices[index])
    }
}
