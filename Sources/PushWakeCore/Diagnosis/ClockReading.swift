// SPDX-License-Identifier: MIT

/// How far this machine's clock is from a push service's, by the Date of an answer (RFC 9110, 6.6.1). Google and others
/// send one; Apple does not.
public struct ClockReading: Equatable, Sendable {
    /// Seconds from which on it is worth a look: answers take time, and Date has whole seconds.
    static let noticeable: Int64 = 30
    /// Seconds from which on services refuse tokens: Google takes those of a few minutes ahead, and none that are an hour old.
    static let harmful: Int64 = 300

    /// Whose clock it is compared with.
    public let host: String
    /// Seconds by which this machine is ahead; negative when it is behind.
    public let ahead: Int64

    /// Reads a Date that came just now; nil when it is none. `now` in seconds since 1970.
    public init?(date: String, host: String, now: Int64) {
        guard let theirs = RetryAfter.seconds(ofDate: date, now: now) else { return nil }
        self.init(host: host, ahead: now &- theirs)
    }

    public init(host: String, ahead: Int64) {
        self.host = host
        self.ahead = ahead
    }

    /// Seconds of difference, whatever its direction.
    public var distance: Int64 { ahead == .min ? .max : abs(ahead) }
    /// It is worth a look.
    public var isOff: Bool { distance >= Self.noticeable }

    /// A sentence without its subject's name: `this machine's clock is 61 min behind fcm.googleapis.com's`.
    public var words: String {
        guard isOff else { return "this machine's clock is that of \(host)" }
        return "this machine's clock is \(UserDiagnosis.time(distance)) \(ahead > 0 ? "ahead of" : "behind") \(host)'s"
    }
}
