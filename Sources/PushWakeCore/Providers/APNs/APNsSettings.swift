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

extension APNsSettings {
    /// Takes what the operator set.
    public init(_ settings: Settings) {
        self.init(
            topic: APNsTopic(setting: settings.text(.apnsTopic)),
            pushType: APNsPushTypeRule(setting: settings.text(.apnsPushType)), payload: PayloadSettings(settings))
    }
}
