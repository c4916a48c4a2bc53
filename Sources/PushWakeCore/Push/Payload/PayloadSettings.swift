// SPDX-License-Identifier: MIT

/// What an operator decides about payloads, for all providers alike.
///
/// A class, because the values of each push hold it: handing it on costs one reference.
public final class PayloadSettings: Equatable, Sendable {
    /// Value of SOUND for calls, unless the phone asked for one with `pn-call-snd`.
    public let callSound: String
    /// Value of SOUND for messages, unless the phone asked for one with `pn-msg-snd`.
    public let messageSound: String
    /// Value of SOUND for every other event.
    public let otherSound: String
    /// 0 keeps the app icon free of a badge (Flexisip's `no-badge`).
    public let badge: UInt8
    /// When false, names and addresses of callers stay out of pushes (Flexisip's `display-from-uri`).
    public let showsCaller: Bool
    /// Apple's tokens are of the sandbox when their phone did not say.
    public let usesSandbox: Bool
    /// News of a mailbox wakes a phone at once, as a message does.
    public let isVoicemailUrgent: Bool
    /// URL that a browser opens when somebody taps on a notification; empty for none.
    public let navigate: String

    /// What Apple's and Google's services play where nobody chose a sound.
    public static let usualSound = "default"

    public init(
        callSound: String = usualSound, messageSound: String = usualSound, otherSound: String = usualSound,
        badge: UInt8 = 1, showsCaller: Bool = true, usesSandbox: Bool = false, isVoicemailUrgent: Bool = false,
        navigate: String = ""
    ) {
        self.callSound = callSound
        self.messageSound = messageSound
        self.otherSound = otherSound
        self.badge = badge
        self.showsCaller = showsCaller
        self.usesSandbox = usesSandbox
        self.isVoicemailUrgent = isVoicemailUrgent
        self.navigate = navigate
    }

    /// What the operator has played for an event.
    func sound(of event: PushEvent) -> String {
        switch event {
        case .call: callSound
        case .chat, .groupChat: messageSound
        default: otherSound
        }
    }

    public static func == (a: PayloadSettings, b: PayloadSettings) -> Bool {
        a === b
            || (a.callSound, a.messageSound, a.otherSound, a.navigate)
                == (b.callSound, b.messageSound, b.otherSound, b.navigate)
                && (a.badge, a.showsCaller, a.usesSandbox) == (b.badge, b.showsCaller, b.usesSandbox)
                && a.isVoicemailUrgent == b.isVoicemailUrgent
    }
}

extension PayloadSettings {
    /// Takes what the operator set.
    public convenience init(_ settings: Settings) {
        self.init(
            callSound: settings.text(.soundCall), messageSound: settings.text(.soundChat),
            otherSound: settings.text(.soundOther), badge: settings.flag(.badge) ? 1 : 0,
            showsCaller: settings.flag(.showCaller), usesSandbox: settings.text(.apnsEnvironment) == "sandbox",
            isVoicemailUrgent: settings.flag(.voicemailUrgent), navigate: settings.text(.webPushNavigate))
    }
}

/// What a provider allows in a payload beyond plain JSON, checked when a template is compiled.
public struct PayloadRules: Equatable, Sendable {
    /// Paths of members that are left out (`message.notification`).
    public var dropped: Set<String>
    /// Objects whose values must all be strings (`message.data`).
    public var stringMaps: Set<String>
    /// The only members allowed at the top; nil allows any.
    public var topLevel: Set<String>?
    /// Paths without which the provider refuses every push.
    public var required: Set<String>

    public init(
        dropped: Set<String> = [], stringMaps: Set<String> = [], topLevel: Set<String>? = nil,
        required: Set<String> = []
    ) {
        self.dropped = dropped
        self.stringMaps = stringMaps
        self.topLevel = topLevel
        self.required = required
    }

    /// Google's schema, as far as a template can break it.
    static func fcm(dropping dropped: Set<String>) -> PayloadRules {
        PayloadRules(
            dropped: dropped, stringMaps: ["message.data", "message.android.data", "message.android_v2.data"],
            topLevel: ["message", "validate_only"], required: ["message", "message.token"])
    }

    /// Google sends no VoIP pushes: with this header Apple refuses whatever comes from there.
    private static let pushTypeBehindFCM = (path: "message.apns.headers", name: "apns-push-type")

    /// Why a member may not be called that, or have a value that begins so, or this text; nil when it may.
    func objection(to name: String, under path: String, valueStartingWith byte: UInt8?, text: String) -> String? {
        if path.isEmpty, let topLevel, !topLevel.contains(name) {
            return "\"\(name)\" may not stand here: all goes inside \"message\""
        }
        if (path, name) == Self.pushTypeBehindFCM, text == "voip" {
            return "Google has no VoIP push: write alert, or <push-type>"
        }
        guard stringMaps.contains(path) else { return nil }
        if byte != UInt8(ascii: "\"") { return "FCM takes only strings here: put the value in quotes" }
        let isReserved = name == "from" || name == "message_type" || name.hasPrefix("google.") || name.hasPrefix("gcm.")
        return isReserved ? "\"\(name)\" is reserved by FCM" : nil
    }
}
