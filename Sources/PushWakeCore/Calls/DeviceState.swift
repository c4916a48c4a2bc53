// SPDX-License-Identifier: MIT

/// Where one device stands in one request.
struct DeviceState {
    /// How far its leg has come.
    enum Heard: Int, Comparable {
        case nothing
        case trying
        case alerting

        static func < (a: Heard, b: Heard) -> Bool { a.rawValue < b.rawValue }
    }

    /// The request as it is out to the device now.
    struct Leg: Equatable {
        let number: Int
        var contact: CallContact
        let since: Int64
        var heard = Heard.nothing
    }

    /// Where the push for the request stands.
    enum Push: Equatable {
        case none
        /// The phone wanted to be left to the request itself until then.
        case scheduled(at: Int64)
        case underway
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
    /// Where it has registered while its leg may still be answered, and when that leg is replaced.
    var replacement: CallContact?
    var replaceAt: Int64?
    /// It has answered with a final code other than 2xx, or was left ringing.
    var hasDeclined = false
    var isAnswered = false
    /// It has rung in this request.
    var hasRung = false
    /// It has registered since the request began.
    var hasCome = false
    /// It has been shown the end by `ringAndCancel`.
    var knowsEnd = false
    private var failedKeys: [String] = []

    init(_ device: CallDevice) { self.device = device }

    /// The best contact that the registrar had.
    var known: CallContact? { device.contacts.first { $0.reach == .open } ?? device.contacts.first }

    /// A push may still bring it.
    var isAwaited: Bool {
        guard !hasDeclined, !isAnswered else { return false }
        switch push {
        case .none, .failed: return false
        case .scheduled, .underway, .accepted: break
        }
        guard let leg else { return true }
        return leg.heard == .nothing && leg.number == legAtPush
    }

    /// When something has to be done for it; `.max` for never.
    var deadline: Int64 {
        var next = min(silentAt ?? .max, replaceAt ?? .max)
        switch push {
        case .scheduled(let at): next = min(next, at)
        case .accepted(let at?): next = min(next, at)
        case .none, .underway, .accepted, .failed: break
        }
        return next
    }

    /// Another connection of the device, when one of several is gone (RFC 5626, 5.3).
    func nextFlow(after contact: CallContact) -> CallContact? {
        device.contacts.first { $0.reach == .open && $0.key != contact.key && !failedKeys.contains($0.key) }
    }

    /// The request has been sent there, in vain.
    func hasFailed(_ contact: CallContact) -> Bool { failedKeys.contains(contact.key) }

    mutating func openLeg(_ number: Int, _ contact: CallContact, _ now: Int64) {
        leg = Leg(number: number, contact: contact, since: now)
        silentAt = nil
        replacement = nil
        replaceAt = nil
    }

    mutating func closeLeg() {
        if let leg { failedKeys.append(leg.contact.key) }
        leg = nil
        silentAt = nil
        replaceAt = nil
    }
}
