// SPDX-License-Identifier: MIT

/// What the settings say about registering phones upstream.
public struct UpstreamPolicy: Equatable, Sendable {
    /// When the upstream registration is given up (`keep_upper_reg`).
    public enum Keeping: Int, Equatable, Sendable {
        /// It is the phone's own business: nothing is sent that no phone asked for.
        case never = 0
        /// While a phone is registered or can be woken.
        case whileWanted = 1
        /// The same, and never ended by the gateway.
        case always = 2
    }

    /// Whether phones are woken to register when the gateway cannot do it for them (`reg_refresh`).
    public enum Waking: Int, Equatable, Sendable {
        /// Those without X-PIID.
        case auto = -1
        case never = 0
        case always = 1
        /// As `always`, and the binding of one that did not come goes.
        case orRemove = 2
    }

    /// What a server's refusal means for push bindings (`remove_on_regfail`).
    public enum Removal: Int, Equatable, Sendable {
        case never = 0
        case refused = 1
        /// Silence counts too, once the registration is over.
        case silent = 2
    }

    /// Seconds asked for; nil: what the phone asks for.
    public var expires: UInt32?
    public var keeping = Keeping.whileWanted
    public var waking = Waking.auto
    public var removal = Removal.refused
    /// A user whom the server refuses, to the gateway and to the phone, loses the push bindings at once (`remove_on_reject`).
    public var removesRejected = true
    /// X-PIID answers challenges even where the phone could.
    public var prefersCredential = false
    /// Milliseconds between two looks at an account at most.
    public var lookPause: Int64 = 3_600_000

    /// The defaults.
    public init() { expires = 3600 }

    /// Takes what the operator set.
    public init(_ settings: Settings) {
        let wanted = settings.integer(.upperExpire)
        expires = wanted < 0 ? nil : UInt32(clamping: wanted)
        keeping = Keeping(rawValue: Int(settings.integer(.keepUpperReg))) ?? .whileWanted
        waking = Waking(rawValue: Int(settings.integer(.regRefresh))) ?? .auto
        removal = Removal(rawValue: Int(settings.integer(.removeOnRegfail))) ?? .refused
        removesRejected = settings.flag(.removeOnReject)
        prefersCredential = settings.flag(.preferMD5Auth)
        lookPause = settings.integer(.rebuild) * 1000
    }
}
