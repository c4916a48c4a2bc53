// SPDX-License-Identifier: MIT

/// The kinds of push that a phone app takes from Apple.
public enum APNsPushType: UInt8, Sendable, CaseIterable {
    /// Wakes the app through PushKit, which must then report a call or be killed by iOS.
    case voip
    /// Shown by iOS, app asleep or not.
    case alert
    /// Silent; iOS allows a few per hour.
    case background

    /// The value of `apns-push-type`.
    public var name: String {
        switch self {
        case .voip: "voip"
        case .alert: "alert"
        case .background: "background"
        }
    }

    /// The type with this name.
    public init?(name: String) {
        guard let type = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = type
    }

    /// `apns-priority` of what can wait until the phone is awake anyway.
    static let lowPriority = "5"

    /// The value of `apns-priority`: background pushes must be 5, by Apple's rule.
    public var priority: String {
        switch self {
        case .voip, .alert: "10"
        case .background: Self.lowPriority
        }
    }

    /// Largest payload in bytes.
    public var payloadLimit: Int {
        switch self {
        case .voip: 5120
        case .alert, .background: 4096
        }
    }
}

/// How `apns-push-type` comes about (Mizutech's `pushnotification_apnspushtype`).
public enum APNsPushTypeRule: Equatable, Sendable {
    /// By event and token.
    case automatic
    /// By event and token, and the header is left out.
    case omitted
    /// This one for every token that is not PushKit's; what is silent stays so.
    case fixed(APNsPushType)

    /// Reads a setting: `auto`, `no`, or the type itself. `voip` is what a call is anyway where it may be.
    public init(setting: String) {
        switch setting {
        case "no": self = .omitted
        case "alert": self = .fixed(.alert)
        case "background": self = .fixed(.background)
        default: self = .automatic
        }
    }

    /// The type of a push that would be `usual` by its event and the kind of its token.
    ///
    /// A PushKit token keeps its type: Apple calls it a wrong token with any other. And nobody shall see or hear that
    /// a phone is asked to register.
    public func type(insteadOf usual: APNsPushType, for service: TokenUse?) -> APNsPushType {
        if case .fixed(let type) = self, service != .voip, usual != .background { return type }
        return usual
    }
}
