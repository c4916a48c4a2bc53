// SPDX-License-Identifier: MIT

/// A REGISTER of a phone that waits for what its SIP server says to it.
public struct PhoneRegister: Equatable, Sendable {
    /// By which its host finds it again.
    public struct Handle: Hashable, Sendable {
        /// The processes of one PBX.
        public let host: UInt64
        /// The request among them.
        public let number: UInt64

        public init(host: UInt64, number: UInt64) {
            self.host = host
            self.number = number
        }
    }

    public var handle: Handle
    /// Tells the user's phones apart.
    public var device: UpstreamDevice
    /// Seconds that the phone asks for.
    public var expires: UInt32 = 3600
    /// Authorization and Proxy-Authorization as the phone sent them: whole lines without their end.
    public var authorization: [String] = []
    /// X-PIID of this very REGISTER.
    public var credential: Secret?
    /// When this phone has left, a push binding of the user is left.
    public var leavesBinding = false
    /// All phones of the user leave (`Contact: *`).
    public var isForAll = false
    /// It only asks who is registered (RFC 3261, 10.2.3).
    public var isQuery = false

    public init(handle: Handle, device: UpstreamDevice) {
        self.handle = handle
        self.device = device
    }

    /// The phone leaves.
    public var isRemoval: Bool { expires == 0 }
}

/// A REGISTER that the gateway sends.
public struct UpstreamRegister: Equatable, Sendable {
    /// Who shows who he is.
    public enum Authorization: Equatable, Sendable {
        case none
        /// The phone itself: its lines.
        case phone([String])
        /// Answers out of a kept HA1, or of the one that came with the phone's REGISTER.
        case digest([Challenged], ofPhone: Bool)
    }

    /// A challenge, and how often its nonce has been used.
    public struct Challenged: Equatable, Sendable {
        public let challenge: DigestChallenge
        public let count: UInt32
    }

    /// Names it for the answer.
    public let attempt: UInt32
    public let cseq: UInt32
    /// It goes under a Call-ID of its own, since the account's is in use.
    public let hasOwnCallID: Bool
    /// Seconds; 0 ends the registration.
    public let expires: UInt32
    public let authorization: Authorization
}

/// What is to be done for an account.
public enum UpstreamAction: Equatable, Sendable {
    case send(UpstreamRegister)
    /// The phone's REGISTER is accepted: save it, for so many seconds at most (nil: as it likes), and tell it these
    /// headers.
    case accept(PhoneRegister.Handle, atMost: UInt32?, headers: [String])
    /// It is refused with this answer.
    case refuse(PhoneRegister.Handle, status: Int, reason: String, headers: [String])
    /// This HA1 is the account's from now on.
    case adopt(Secret)
    /// The HA1 was refused: it is none.
    case dropCredential
    /// What is kept of the account has changed.
    case save

    /// What a phone hears while no engine can be asked.
    public static let notReady = (status: 503, reason: "Gateway Not Ready", headers: ["Retry-After: 5"])
    /// Wake the phones, so that they register.
    case wakePhones
    /// The registration is over, and nobody here can renew it; the text says why. Bindings go when asked for.
    case lapsed(String, removesBindings: Bool)
    /// Nobody wants the account any more.
    case forget
    /// For the server's pace.
    case serverAnswered
    case serverFailed(retryAfter: UInt32?)
}
