// SPDX-License-Identifier: MIT

public import PushWakeCore

/// A call that is played to see whether a phone rings: who calls whom, from where, and how long it may take.
public struct CanaryPlan {
    /// How SIP messages get to the PBX.
    public enum Transport: String, Sendable, CaseIterable {
        case udp, tcp
    }

    /// What shows that the way of a call works.
    public enum Goal: String, Sendable, CaseIterable {
        /// 180, or an answer.
        case ringing
        /// An answer.
        case answer
    }

    /// Name and password for a PBX that asks for them (401, 407).
    public struct Account: Sendable {
        public let name: String
        public let password: Secret

        public init(name: String, password: Secret) {
            self.name = name
            self.password = password
        }
    }

    /// `sip:user@host[:port]`.
    public var target: String
    /// URI of the caller.
    public var caller: String
    /// `ip:port` of this end.
    public var localAddress: String
    public var transport = Transport.udp
    public var goal = Goal.ringing
    /// Milliseconds until it must have come.
    public var patience: Int64 = 20_000
    public var account: Account?
    /// Digests for the account.
    public var hash: DigestAnswer.Hash
    /// Call-ID, and 64 bits of chance for tags and branches.
    public var callID: String
    public var random: UInt64

    public init(
        target: String, caller: String, localAddress: String, callID: String, random: UInt64,
        hash: @escaping DigestAnswer.Hash
    ) {
        self.target = target
        self.caller = caller
        self.localAddress = localAddress
        self.callID = callID
        self.random = random
        self.hash = hash
    }
}

/// What became of the call.
public struct CanaryResult: Equatable, Sendable {
    /// The goal was reached.
    public var isGood: Bool
    /// Milliseconds from INVITE to the first ringing, or to the answer of a phone that did not ring before; nil when none
    /// came.
    public var ringing: Int64?
    /// Milliseconds from INVITE to the answer.
    public var answer: Int64?
    /// Last status of the call; 0 when nothing came.
    public var status: Int
    /// For people: what happened.
    public var text: String

    public init(isGood: Bool, ringing: Int64? = nil, answer: Int64? = nil, status: Int, text: String) {
        self.isGood = isGood
        self.ringing = ringing
        self.answer = answer
        self.status = status
        self.text = text
    }
}

/// What the call wants done.
public enum CanaryAction: Equatable, Sendable {
    case send([UInt8])
    /// The call is over; nothing comes after it.
    case finish(CanaryResult)
}
