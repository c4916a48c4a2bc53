// SPDX-License-Identifier: MIT

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
    var leg: Leg?
    var push = Push.none
    /// Pushes sent for the request.
    var pushes = 0
    /// The leg that was out when it was pushed last, 0 for none: a later one went to where the device is now.
    var legAtPush = 0
    /// A provider has taken one.
    var wasPushed = false
    /// When it counts as silent.
    var silentAt: Int64?
    var replacement: Replacement?
    /// It has answered with a final code other than 2xx, or was left ringing.
    var hasDeclined = false
    var isAnswered = false
    /// It has been shown the end by `ringAndCancel`.
    var knowsEnd = false
    private var failedKeys: [String] = []

    init(_ device: CallDevice) { self.device = device }

    /// Where a request can go without the phone's help, the best one first: nil when it has to come by itself.
    var reachable: CallContact? {
        let contacts = device.contacts.filter { $0.canBeRung && !failedKeys.contains($0.key) }
        return contacts.first { $0.reach == .open } ?? contacts.first
    }

    /// A push may still bring it.
    var isAwaited: Bool {
        guard !hasDeclined, !isAnswered else { return false }
        switch push {
        case .none, .failed: return false
        case .underway, .dropped, .accepted: break
        }
        guard let leg else { return true }
        return leg.heard == .nothing && leg.number == legAtPush
    }

    /// Its leg may be answered, or will fail by itself.
    var hasLiveLeg: Bool { leg != nil && !isAwaited }

    /// When something has to be done for it; `.max` for never.
    var deadline: Int64 {
        var next = min(silentAt ?? .max, replacement?.at ?? .max)
        if case .accepted(let at?) = push { next = min(next, at) }
        return next
    }

    /// Another connection of the device, when one of several is gone (RFC 5626, 5.3).
    var nextFlow: CallContact? { reachable.flatMap { $0.reach == .open ? $0 : nil } }

    mutating func openLeg(_ number: Int, _ contact: CallContact, _ now: Int64, isSent: Bool = true) {
        leg = Leg(number: number, contact: contact, since: now, isSent: isSent)
        silentAt = nil
        replacement = nil
    }

    /// `hasFailed`: its contact is not tried again.
    mutating func closeLeg(hasFailed: Bool = true) {
        if hasFailed, let leg { failedKeys.append(leg.contact.key) }
        leg = nil
        silentAt = nil
        replacement = nil
    }
}
