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
