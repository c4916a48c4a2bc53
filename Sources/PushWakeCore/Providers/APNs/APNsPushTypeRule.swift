// SPDX-License-Identifier: MIT

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
    public func type(insteadOf usual: APNsPushType, for service: Service?) -> APNsPushType {
        if case .fixed(let type) = self, service != .voip, usual != .background { return type }
        return usual
    }
}
