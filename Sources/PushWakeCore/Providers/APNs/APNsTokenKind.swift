// SPDX-License-Identifier: MIT

/// What Apple's tokens are for whose phones do not say: `X-MPUSH: i` and `push-token-type=ios` have no word for it, and a
/// token that is reported over HTTP may come without one.
///
/// Apple gives an app one token for calls (PushKit) and another for alerts, and answers DeviceTokenNotForTopic to a push of
/// the other kind. So each token gets one kind for all events: a call to a token for alerts is an alert, and anything but
/// a call to a PushKit token is not sent. Bindings are stored without it, so that a changed setting counts at once, also for
/// phones that sleep.
public struct APNsTokenKind: Equatable, Sendable {
    /// `.voip` or `.remote`.
    public let service: TokenUse

    /// Reads `apns_token_kind`. `auto` is what Mizutech's guide has apps send, a PushKit token, unless `apns_push_type` has
    /// pushes for such tokens changed to another type.
    public init(_ settings: Settings) {
        switch settings.text(.apnsTokenKind) {
        case "voip": service = .voip
        case "alert": service = .remote
        default:
            if case .fixed = APNsPushTypeRule(setting: settings.text(.apnsPushType)) {
                service = .remote
            } else {
                service = .voip
            }
        }
    }

    /// The binding with its kind; as it is when the phone said it, or when the token is not Apple's.
    public func named(_ binding: Binding) -> Binding {
        guard Self.isUnnamed(binding) else { return binding }
        var named = binding
        named.service = service
        return named
    }

    /// The same for all bindings of a user.
    public func named(_ bindings: [Binding]) -> [Binding] {
        guard bindings.contains(where: Self.isUnnamed) else { return bindings }
        return bindings.map { named($0) }
    }

    private static func isUnnamed(_ binding: Binding) -> Bool { binding.provider == .apns && binding.service == nil }
}
