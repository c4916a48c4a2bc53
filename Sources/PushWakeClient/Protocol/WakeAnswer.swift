// SPDX-License-Identifier: MIT

/// What a `wake` is answered with.
package struct WakeAnswer: Equatable {
    /// Push bindings of the user.
    package var bindings = 0
    /// Pushes queued for this request, now or by an earlier copy of it.
    package var pushed = 0
    /// Bindings whose phone is awake.
    package var awake = 0
    /// Per contact: 0 ring, 1 hold.
    package var verdicts: [UInt8]
    /// Per contact: the number of its leg, or 0.
    package var legs: [UInt16]
    /// Verbs may come for the request.
    package var isWatched = false
    /// Milliseconds for which the host keeps it open without a leg; 0: it need not.
    package var hold: Int64 = 0
    /// Milliseconds for which verbs may come, or the word that a channel waits for.
    package var limit: Int64 = 0
    /// What another engine needs to go on with it.
    package var ticket: [UInt8] = []

    /// Every contact may ring.
    package init(contacts: Int) {
        (verdicts, legs) = ([], [])
        verdicts.reserveCapacity(contacts)
        legs.reserveCapacity(contacts)
        for _ in 0..<contacts {
            verdicts.append(0)
            legs.append(0)
        }
    }

    /// Writes the fields of the reply.
    package func encode(into writer: inout MessageWriter) {
        writer.put(.bindings, bindings)
        writer.put(.pushed, pushed)
        writer.put(.awake, awake)
        writer.put(.verdicts, verdicts)
        // A channel that waits has no handle, and asks for the time all the same.
        if limit > 0 { writer.put(.limit, limit) }
        guard isWatched else { return }
        writer.put(.watched, 1)
        writer.put(.legs, legs.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] })
        writer.put(.hold, hold)
        writer.put(.ticket, ticket)
    }
}

/// One thing that happened to a wake.
package struct WaitEvent: Equatable {
    package var kind: WaitKind
    /// Contact URI as registered; empty when not known.
    package var contact = ""
    package var reason = ""

    package init(kind: WaitKind, contact: String = "", reason: String = "") {
        (self.kind, self.contact, self.reason) = (kind, contact, reason)
    }
}

/// What a waiting channel hears; raw values go over the wire.
package enum WaitKind: Int {
    case registered = 1
    case timedOut = 2
    case failed = 3
}
