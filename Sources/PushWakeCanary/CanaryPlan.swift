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

    /// What is sent.
    public enum Content: String, Sendable, CaseIterable {
        case audio, video
        /// A MESSAGE (RFC 3428), which is over with its answer.
        case text
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
    public var content = Content.audio
    /// Milliseconds until it must have come.
    public var timeout: Int64 = 20_000
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
    /// Milliseconds from INVITE until the caller took the call back, and until its last answer came.
    public var cancelled: Int64?
    public var ended: Int64?
    /// Last status of the call; 0 when nothing came.
    public var status: Int
    /// For people: what happened.
    public var text: String

    public init(
        isGood: Bool, ringing: Int64? = nil, answer: Int64? = nil, cancelled: Int64? = nil, ended: Int64? = nil,
        status: Int, text: String
    ) {
        self.isGood = isGood
        self.ringing = ringing
        self.answer = answer
        self.cancelled = cancelled
        self.ended = ended
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

/// A result for Prometheus: what the node exporter's textfile collector reads.
public enum CanaryReport {
    /// `user` is the label; `wallSeconds` when the call ended, seconds since 1970.
    public static func metrics(_ result: CanaryResult, user: String, wallSeconds: Int64) -> [UInt8] {
        var text = MetricsText()
        let labels: [MetricsText.Label] = [(name: "user", value: user)]
        text.family("pushwake_canary_success", .gauge, "Whether the last call of pushwake canary reached its goal.")
        text.sample("pushwake_canary_success", result.isGood ? 1 : 0, labels)
        text.family("pushwake_canary_last_run_timestamp_seconds", .gauge, "When that call ended.")
        text.sample("pushwake_canary_last_run_timestamp_seconds", wallSeconds, labels)
        text.family("pushwake_canary_status", .gauge, "Last SIP status of that call; 0 when the PBX said nothing.")
        text.sample("pushwake_canary_status", Int64(result.status), labels)
        if let ringing = result.ringing {
            text.family("pushwake_canary_ring_seconds", .gauge, "From its INVITE until the phone rang.")
            text.sample("pushwake_canary_ring_seconds", millionths: ringing &* 1000, labels)
        }
        return text.bytes
    }
}
