// SPDX-License-Identifier: MIT

/// What an engine knows of a user, for `UserDiagnosis`. Times are seconds.
public struct DiagnosisFacts: Equatable, Sendable {
    /// The way to a phone's push service.
    public enum Way: Equatable, Sendable {
        /// With so many connections that stand now.
        case ready(connections: Int)
        case backedOff
        /// No connection can be made, and why.
        case unreachable(String)
        /// Its circuit is open, and how the push ended that opened it.
        case circuitOpen(Verdict)
        /// The service gives no access for its key, and why.
        case refused(String)
        /// No key or certificate is there for it; what to set, or what is wrong with the file.
        case missing(String)
    }

    /// One binding.
    public struct Phone: Equatable, Sendable {
        public let provider: Provider
        public let app: String
        /// Shortened.
        public let token: String
        public let registeredAgo: Int64
        /// 0 and less when the SIP registration is over.
        public let expiresIn: Int64
        public let way: Way
        /// What its pushes carry; nil when that is not known.
        public let payload: PayloadLibrary.Choice?
        public let assessment: WakeRecord.Assessment
        /// The reason of the last push that failed; empty when the last one was accepted, or it is not known.
        public let lastFailure: String
        /// Nil for never.
        public let lastPushAgo: Int64?

        public init(
            provider: Provider, app: String, token: String, registeredAgo: Int64, expiresIn: Int64, way: Way,
            payload: PayloadLibrary.Choice? = nil, assessment: WakeRecord.Assessment,
            lastFailure: String = "", lastPushAgo: Int64?
        ) {
            self.provider = provider
            self.app = app
            self.token = token
            self.registeredAgo = registeredAgo
            self.expiresIn = expiresIn
            self.way = way
            self.payload = payload
            self.assessment = assessment
            self.lastFailure = lastFailure
            self.lastPushAgo = lastPushAgo
        }
    }

    /// A binding that is gone.
    public struct Removed: Equatable, Sendable {
        public let provider: Provider
        public let app: String
        public let reason: String
        /// What the provider said of its token; empty where it was removed for another reason.
        public var cause: String {
            reason.hasPrefix(Self.deadToken) ? String(reason.dropFirst(Self.deadToken.count + 1)) : ""
        }
        /// How the reason of a binding begins whose token was called dead.
        public static let deadToken = "token-gone"

        public init(provider: Provider, app: String, reason: String) {
            self.provider = provider
            self.app = app
            self.reason = reason
        }
    }

    /// The last call or message.
    public struct Request: Equatable, Sendable {
        public let trace: CallTrace
        public let ago: Int64

        public init(trace: CallTrace, ago: Int64) {
            self.trace = trace
            self.ago = ago
        }
    }

    public let aor: String
    /// Nil while the store can be read.
    public var storeProblem: String?
    /// Nodes share the store, which is a server.
    public var isStoreShared = false
    /// Nil while it can be written.
    public var writeProblem: String?
    /// The file of the store was taken away or replaced while the engine has it open.
    public var isFileGone = false
    public var phones: [Phone] = []
    /// The newest first.
    public var removed: [Removed] = []
    /// Users with bindings whose names differ by the domain alone.
    public var others: [String] = []
    public var lastRequest: Request?
    /// Nil where no push service has told its time.
    public var clock: ClockReading?
    /// Why the last REGISTER of the user stored nothing, with the remedy; nil when it did, or none has come.
    public var refusal: String?
    /// REGISTERs with push parameters, and requests that may wake, of all users since the engine started.
    public var registers = 0
    public var wakes = 0
    /// Whether `wake_requests` has calls.
    public var wakesCalls = true
    /// Asterisk's dialplan has to name what wakes phones.
    public var waitsInDialplan = false

    /// Knows nothing but the name.
    public init(aor: String) { self.aor = aor }
}

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
