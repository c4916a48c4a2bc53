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
    /// Which alerts an extension of the app's may change.
    public let mutableContent: PayloadExtras.MutableContent
    /// URL that a browser opens when somebody taps on a notification; empty for none.
    public let navigate: String

    public init(
        callSound: String = "default", messageSound: String = "default", otherSound: String = "default",
        badge: UInt8 = 1, showsCaller: Bool = true, usesSandbox: Bool = false, isVoicemailUrgent: Bool = false,
        mutableContent: PayloadExtras.MutableContent = .automatic, navigate: String = ""
    ) {
        self.callSound = callSound
        self.messageSound = messageSound
        self.otherSound = otherSound
        self.badge = badge
        self.showsCaller = showsCaller
        self.usesSandbox = usesSandbox
        self.isVoicemailUrgent = isVoicemailUrgent
        self.mutableContent = mutableContent
        self.navigate = navigate
    }

    public static func == (a: PayloadSettings, b: PayloadSettings) -> Bool {
        a === b
            || (a.callSound, a.messageSound, a.otherSound, a.navigate)
                == (b.callSound, b.messageSound, b.otherSound, b.navigate)
                && (a.badge, a.showsCaller, a.usesSandbox) == (b.badge, b.showsCaller, b.usesSandbox)
                && (a.isVoicemailUrgent, a.mutableContent) == (b.isVoicemailUrgent, b.mutableContent)
    }
}

extension PayloadSettings {
    /// Takes what the operator set.
    public convenience init(_ settings: Settings) {
        self.init(
            callSound: settings.text(.soundCall), messageSound: settings.text(.soundChat),
            otherSound: settings.text(.soundOther), badge: settings.flag(.badge) ? 1 : 0,
            showsCaller: settings.flag(.showCaller), usesSandbox: settings.text(.apnsEnvironment) == "sandbox",
            isVoicemailUrgent: settings.flag(.voicemailUrgent),
            mutableContent: PayloadExtras(settings).mutableContent, navigate: settings.text(.webPushNavigate))
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

    /// Why a member may not be called that, or have a value that begins so; nil when it may.
    func objection(to name: String, under path: String, valueStartingWith byte: UInt8?) -> String? {
        if path.isEmpty, let topLevel, !topLevel.contains(name) {
            return "\"\(name)\" may not stand here: all goes inside \"message\""
        }
        guard stringMaps.contains(path) else { return nil }
        if byte != UInt8(ascii: "\"") { return "FCM takes only strings here: put the value in quotes" }
        let isReserved = name == "from" || name == "message_type" || name.hasPrefix("google.") || name.hasPrefix("gcm.")
        return isReserved ? "\"\(name)\" is reserved by FCM" : nil
    }
}

/// Which built-in payload goes where: one for all, and others for single providers or apps.
public struct PayloadFamilies: Equatable, Sendable {
    /// A provider, or one of its apps, that has a payload of its own.
    public struct Exception: Equatable, Sendable {
        /// One of `providers`.
        public let provider: Provider
        /// Bundle id, package or project; empty for all.
        public let app: String
        public let family: BuiltInPayloads.Family
    }

    /// What a setting says wrongly.
    public struct Mistake: Error, Equatable, Sendable {
        /// What to write instead.
        public let remedy: String
    }

    /// Providers whose payloads are templates; the others have a form of their own.
    public static let providers = [Provider.apns, .fcm, .webpush]

    /// For whatever is not an exception.
    public private(set) var usual: BuiltInPayloads.Family
    /// In the order given.
    public private(set) var exceptions: [Exception] = []

    /// The same for all.
    public init(_ usual: BuiltInPayloads.Family) { self.usual = usual }

    /// Reads `plain, fcm=mizutech, apns.com.example.phone=flexisip`; without a first name `plain` is the usual one.
    public init(setting: String) throws(Mistake) {
        self.init(.plain)
        for (number, part) in setting.split(separator: ",", omittingEmptySubsequences: false).enumerated() {
            let sides = part.split(separator: "=", omittingEmptySubsequences: false).map(Self.trimmed)
            if sides.count == 1, number == 0 {
                usual = try Self.family(sides[0])
            } else {
                guard sides.count == 2 else {
                    throw Mistake(remedy: "write one payload for all, then PROVIDER=PAYLOAD or PROVIDER.APP=PAYLOAD")
                }
                exceptions.append(try Self.exception(sides[0], try Self.family(sides[1])))
            }
        }
    }

    private static func exception(
        _ target: Substring, _ family: BuiltInPayloads.Family
    ) throws(Mistake) -> Exception {
        for provider in Self.providers {
            if target == provider.name { return Exception(provider: provider, app: "", family: family) }
            if target.hasPrefix("\(provider.name)."), target.utf8.count > provider.name.utf8.count + 1 {
                let app = String(target.dropFirst(provider.name.count + 1))
                return Exception(provider: provider, app: app, family: family)
            }
        }
        throw Mistake(
            remedy: "before = write apns, fcm or webpush, or one of their apps such as apns.com.example.phone")
    }

    private static func family(_ name: Substring) throws(Mistake) -> BuiltInPayloads.Family {
        guard let family = BuiltInPayloads.Family(rawValue: String(name)) else {
            throw Mistake(
                remedy: "write one of \(BuiltInPayloads.Family.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return family
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var rest = text.drop { $0 == " " || $0 == "\t" }
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return rest
    }
}
