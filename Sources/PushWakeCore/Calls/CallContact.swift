// SPDX-License-Identifier: MIT

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
        /// Its phone takes no such request (Allow, RFC 3261, 20.5): it is neither pushed nor rung.
        case refuses = 4
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

    /// Whether an answer that came over the network is the phone's own.
    func speaksItself(_ status: Int) -> Bool { isDirect || !FinalAnswer.isAboutTheWay(status) }

    /// Sending to it needs nothing that the phone would have to do first.
    package var canBeRung: Bool { reach != .lost && reach != .refuses }
}
