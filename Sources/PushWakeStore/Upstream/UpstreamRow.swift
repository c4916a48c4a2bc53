// SPDX-License-Identifier: MIT

public import PushWakeCore

/// What is remembered of an upstream registration over a restart.
public struct UpstreamRow: Equatable, Sendable {
    public var target: UpstreamTarget
    /// Host and port of the gateway's Contact.
    public var local: String
    public var callID: String
    public var fromTag: String
    /// The last one that was used.
    public var cseq: UInt32
    /// Who answers challenges.
    public var username: String
    /// Seconds since 1970; 0 while nothing is registered.
    public var until: Int64
    /// Milliseconds that the server granted last.
    public var interval: Int64
    /// Under which push bindings of the user are stored; empty when none was ever.
    public var aor: String
    /// HA1 as `SecretBox` sealed it; empty when none is kept.
    public var secret: [UInt8]
    /// Which hash HA1 is; nil when none is kept.
    public var algorithm: DigestAlgorithm?
    /// Phones that are registered on the gateway: fingerprint, and end in seconds since 1970.
    public var devices: [(device: UInt64, endsAt: Int64)]

    /// Takes every field as it is.
    public init(
        target: UpstreamTarget, local: String, callID: String, fromTag: String, cseq: UInt32, username: String,
        until: Int64, interval: Int64, aor: String, secret: [UInt8], algorithm: DigestAlgorithm?,
        devices: [(device: UInt64, endsAt: Int64)]
    ) {
        self.target = target
        self.local = local
        self.callID = callID
        self.fromTag = fromTag
        self.cseq = cseq
        self.username = username
        self.until = until
        self.interval = interval
        self.aor = aor
        self.secret = secret
        self.algorithm = algorithm
        self.devices = devices
    }

    /// All fields are the same.
    public static func == (left: Self, right: Self) -> Bool {
        left.target == right.target && left.local == right.local && left.callID == right.callID
            && left.fromTag == right.fromTag && left.cseq == right.cseq && left.username == right.username
            && left.until == right.until && left.interval == right.interval && left.aor == right.aor
            && left.secret == right.secret && left.algorithm == right.algorithm
            && left.devices.elementsEqual(right.devices) { $0.device == $1.device && $0.endsAt == $1.endsAt }
    }
}
