// SPDX-License-Identifier: MIT

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

    init(contacts: Int) { verdicts = Array(repeating: 0, count: contacts) }

    /// Writes the fields of the reply.
    func encode(into writer: inout MessageWriter) {
        writer.put(.bindings, bindings)
        writer.put(.pushed, pushed)
        writer.put(.awake, awake)
        writer.put(.verdicts, verdicts)
    }
}
