// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// What a `wake` is answered with.
struct WakeAnswer: Equatable {
    /// Push bindings of the user.
    var bindings = 0
    /// Pushes queued for this request, now or by an earlier copy of it.
    var pushed = 0
    /// Bindings whose phone is awake.
    var awake = 0
    /// Per contact: 0 ring, 1 hold.
    var verdicts: [UInt8]
    /// Per contact: the number of its leg, or 0.
    var legs: [UInt16]
    /// Verbs may come for the request.
    var isWatched = false
    /// Milliseconds for which the host keeps it open without a leg; 0: it need not.
    var hold: Int64 = 0
    /// Milliseconds for which verbs may come.
    var limit: Int64 = 0
    /// What another engine needs to go on with it.
    var ticket: [UInt8] = []

    init(contacts: Int) {
        verdicts = Array(repeating: 0, count: contacts)
        legs = Array(repeating: 0, count: contacts)
    }

    /// Writes the fields of the reply.
    func encode(into writer: inout MessageWriter) {
        writer.put(.bindings, bindings)
        writer.put(.pushed, pushed)
        writer.put(.awake, awake)
        writer.put(.verdicts, verdicts)
        guard isWatched else { return }
        writer.put(.watched, 1)
        writer.put(.legs, legs.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] })
        writer.put(.hold, hold)
        writer.put(.limit, limit)
        writer.put(.ticket, ticket)
    }
}
