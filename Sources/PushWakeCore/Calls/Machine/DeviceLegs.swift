// SPDX-License-Identifier: MIT

/// The request as it is out to one contact of a device.
struct CallLeg {
    /// How far it has come.
    enum Heard: Comparable {
        case nothing, trying, alerting

        /// 0 for no answer.
        init(status: Int) { self = status <= 0 ? .nothing : status == 100 ? .trying : .alerting }
    }

    /// What a device says to a request that it has over another leg already.
    static let merged = 482

    let number: Int
    /// The place of its contact in `DeviceState.rungContacts`: a copy of a leg counts no references to texts.
    let place: Int
    let openedAt: Int64
    /// Nil until a dialplan, or the script of a serial call, comes to it.
    var sentAt: Int64?
    var heard = Heard.nothing

    /// When it began, as far as is known.
    var since: Int64 { sentAt ?? openedAt }
}

/// The leg that is out to a device, or both.
///
/// Whether an app that registers elsewhere was started anew, or has several connections, no REGISTER says for certain; its
/// answers do. So its first leg stays open until the second one rings. An app that has the request already refuses a second
/// copy with 482 (RFC 3261, 8.2.2.2), and the first leg goes on.
struct DeviceLegs {
    /// Of two the one that was heard more of, or else the newer one.
    var first: CallLeg
    var other: CallLeg?
    /// When the device counts as silent.
    var silentAt: Int64?

    init(_ first: CallLeg, other: CallLeg? = nil) {
        self.first = first
        self.other = other
        order()
    }

    subscript(number: Int) -> CallLeg? {
        first.number == number ? first : other?.number == number ? other : nil
    }

    /// The leg beside this one.
    func other(than leg: CallLeg) -> CallLeg? { first.number == leg.number ? other : first }

    /// This leg is spoken of.
    mutating func choose(_ number: Int) {
        if let other, other.number == number { (first, self.other) = (other, first) }
    }

    mutating func order() {
        if let other, (other.heard, other.number) > (first.heard, first.number) { choose(other.number) }
    }
}
