// SPDX-License-Identifier: MIT

/// What was seen while a push should wake a phone for one request, for `WakingReport`. Times are milliseconds since the
/// request began.
public struct WakingFacts: Equatable, Sendable {
    /// One thing that happened, and to which of the request's phones (from 1).
    public struct Event: Equatable, Sendable {
        public enum What: Equatable, Sendable {
            case awake
            /// The user has a phone that no push can wake for this.
            case notPushable
            /// By a rule or a limit of PushWake.
            case notPushed(String)
            case pushed
            case pushEnded(Outcome, reason: String, httpStatus: Int, milliseconds: Int64)
            case registered
            /// The request was sent to it.
            case rung
            case answered(Int)
            case failed(Int)
        }

        public let at: Int64
        public let phone: Int
        public let what: What

        /// The phone says that it rings, or answers.
        public var isRinging: Bool {
            if case .answered(180..<300) = what { true } else { false }
        }

        public init(at: Int64, phone: Int, _ what: What) {
            (self.at, self.phone, self.what) = (at, phone, what)
        }
    }

    /// A binding as a listing has it.
    public struct Phone: Equatable, Sendable {
        public let provider: Provider
        public let app: String
        /// Shortened.
        public let token: String
        public let instance: String
        /// When its binding was stored, to the second.
        public let registeredAt: Int64

        public init(provider: Provider, app: String, token: String, instance: String, registeredAt: Int64) {
            (self.provider, self.app, self.token) = (provider, app, token)
            (self.instance, self.registeredAt) = (instance, registeredAt)
        }
    }

    /// A push by hand that went ahead of the request.
    public struct Early: Equatable, Sendable {
        public let outcome: Outcome
        public let reason: String
        public let httpStatus: Int
        /// How long the push service took.
        public let milliseconds: Int64
        /// From the push to the REGISTER; nil when none came.
        public let registered: Int64?
        /// From the push to the request.
        public let ahead: Int64

        public init(
            outcome: Outcome, reason: String, httpStatus: Int, milliseconds: Int64, registered: Int64?, ahead: Int64
        ) {
            (self.outcome, self.reason, self.httpStatus) = (outcome, reason, httpStatus)
            (self.milliseconds, self.registered, self.ahead) = (milliseconds, registered, ahead)
        }
    }

    /// The request as its caller saw it.
    public struct Caller: Equatable, Sendable {
        public var ringing: Int64?
        public var answer: Int64?
        /// When the caller took the call back.
        public var cancelled: Int64?
        /// When the last answer came.
        public var ended: Int64?
        public var status: Int
        /// What happened, for people.
        public var text: String

        public init(
            ringing: Int64? = nil, answer: Int64? = nil, cancelled: Int64? = nil, ended: Int64? = nil, status: Int,
            text: String
        ) {
            (self.ringing, self.answer, self.cancelled, self.ended) = (ringing, answer, cancelled, ended)
            (self.status, self.text) = (status, text)
        }
    }

    /// INVITE or MESSAGE.
    public var method = "INVITE"
    /// The bindings before the push, and the reason of the one that is gone if there is none.
    public var before: [Phone] = []
    public var removed = ""
    /// The bindings after it.
    public var after: [Phone] = []
    /// The request's trace; empty when the engine has none.
    public var events: [Event] = []
    /// Which binding each of the request's phones has, as its shortened token.
    public var tokens: [Int: String] = [:]
    /// When this was seen, while more may come; nil when all is over.
    public var seenAt: Int64?
    public var caller: Caller
    public var early: Early?
    /// Requests before this one that woke the phone.
    public var wakesBefore = 0

    /// Knows how the call went for its caller.
    public init(caller: Caller) { self.caller = caller }

    /// When the caller had gone; nil while the phone rings on, or was answered.
    var callerLeft: Int64? { caller.answer == nil ? caller.cancelled ?? caller.ended : nil }
}
