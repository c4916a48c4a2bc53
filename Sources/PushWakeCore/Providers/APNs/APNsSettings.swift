// SPDX-License-Identifier: MIT

/// What an operator decides about pushes through Apple.
public struct APNsSettings: Equatable, Sendable {
    public var topic: APNsTopic
    public var pushType: APNsPushTypeRule
    public var payload: PayloadSettings

    public init(
        topic: APNsTopic = .automatic, pushType: APNsPushTypeRule = .automatic,
        payload: PayloadSettings = PayloadSettings()
    ) {
        self.topic = topic
        self.pushType = pushType
        self.payload = payload
    }
}

/// How `apns-push-type` comes about (Mizutech's `pushnotification_apnspushtype`).
public enum APNsPushTypeRule: Equatable, Sendable {
    /// By event and token.
    case automatic
    case omitted
    case fixed(String)

    /// Reads a setting: empty, `no`, or the type itself.
    public init(setting: String) {
        switch setting {
        case "": self = .automatic
        case "no": self = .omitted
        default: self = .fixed(setting)
        }
    }
}
