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
    }

    /// The host's name for it; no two contacts of a user share one.
    public var key: String
    /// Where requests to it go; a registrar may keep the key while a device changes it. Empty when not known.
    public var address: String
    /// The address and transport that its REGISTER came from, or anything else that changes with them; empty when
    /// the host does not know.
    public var flow: String
    /// Call-ID of its REGISTER: a phone keeps it until it starts anew (RFC 3261, 10.2).
    public var registrationID: String
    public var reach: Reach
    /// Seconds since its REGISTER; -1 when not known.
    public var age: Int64
    /// A proxy stands before the phone: a 100 is that proxy's.
    public var isBehindProxy: Bool

    public init(
        key: String, address: String = "", flow: String = "", registrationID: String = "",
        reach: Reach = .datagram, age: Int64 = -1, isBehindProxy: Bool = false
    ) {
        self.key = key
        self.address = address
        self.flow = flow
        self.registrationID = registrationID
        self.reach = reach
        self.age = age
        self.isBehindProxy = isBehindProxy
    }

    /// A request to either goes to the same place.
    func isSamePlace(as other: CallContact) -> Bool { key == other.key && address == other.address }

    /// A request to either takes the same way. Where a registrar keeps no source of a REGISTER, datagrams go to the
    /// address alone.
    func isSameFlow(as other: CallContact) -> Bool {
        if !flow.isEmpty && !other.flow.isEmpty { return flow == other.flow }
        return reach == .datagram && other.reach == .datagram && isSamePlace(as: other)
    }

    /// Sending to it needs nothing that the phone would have to do first.
    var canBeRung: Bool { reach != .lost }
}
