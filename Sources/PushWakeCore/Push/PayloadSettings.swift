// SPDX-License-Identifier: MIT

/// What an operator decides about payloads, for all providers alike.
public struct PayloadSettings: Equatable, Sendable {
    /// Value of SOUND for calls, unless the phone wished one with `pn-call-snd`.
    public var callSound: String
    /// Value of SOUND for messages, unless the phone wished one with `pn-msg-snd`.
    public var messageSound: String
    /// Value of SOUND for every other event.
    public var otherSound: String
    /// 0 keeps the app icon free of a badge (Flexisip's `no-badge`).
    public var badge: UInt8
    /// When false, names and addresses of callers stay out of pushes (Flexisip's `display-from-uri`).
    public var showsCaller: Bool
    /// Apple's tokens are of the sandbox when their phone did not say.
    public var usesSandbox: Bool
    /// News of a mailbox wakes a phone at once, as a message does.
    public var isVoicemailUrgent: Bool

    public init(
        callSound: String = "default", messageSound: String = "default", otherSound: String = "default",
        badge: UInt8 = 1, showsCaller: Bool = true, usesSandbox: Bool = false, isVoicemailUrgent: Bool = false
    ) {
        self.callSound = callSound
        self.messageSound = messageSound
        self.otherSound = otherSound
        self.badge = badge
        self.showsCaller = showsCaller
        self.usesSandbox = usesSandbox
        self.isVoicemailUrgent = isVoicemailUrgent
    }
}

extension PayloadSettings {
    /// Takes what the operator set.
    public init(_ settings: Settings) {
        self.init(
            callSound: settings.text(.soundCall), messageSound: settings.text(.soundChat),
            otherSound: settings.text(.soundOther), badge: settings.flag(.badge) ? 1 : 0,
            showsCaller: settings.flag(.showCaller), usesSandbox: settings.text(.apnsEnvironment) == "sandbox",
            isVoicemailUrgent: settings.flag(.voicemailUrgent))
    }
}
