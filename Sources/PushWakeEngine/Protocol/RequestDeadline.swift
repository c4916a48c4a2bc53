// SPDX-License-Identifier: MIT

/// When the sender of a request gives up on it, as the request itself says.
///
/// A message waits in the socket while the engine is stopped or busy, and all processes of a host share one
/// monotonic clock. So the engine can tell a call that somebody still holds from one that went its way without push.
struct RequestDeadline: Equatable {
    /// Monotonic milliseconds.
    private var sentAt: Int64?
    /// Milliseconds.
    private var patience: Int64?

    /// Reads it from a request; one that says nothing never ends.
    init(decoding message: MessageReader) {
        var reader = message
        while let field = reader.next() {
            switch field.tag {
            case .sentAt: sentAt = reader.number(field)
            case .patience: patience = reader.number(field)
            default: break
            }
        }
    }

    /// Whether the sender has given up by `now` (monotonic milliseconds). Both times were cut to milliseconds, so a
    /// request of exactly that age may still be waited for.
    func isPast(at now: Int64) -> Bool {
        guard let sentAt, let patience else { return false }
        let (age, overflow) = now.subtractingReportingOverflow(sentAt)
        return !overflow && age > max(patience, 0)
    }
}
