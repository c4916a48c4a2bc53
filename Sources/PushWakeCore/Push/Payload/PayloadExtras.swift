// SPDX-License-Identifier: MIT

/// What the settings add to the built-in payloads; templates of the operator's own hold what they want.
public struct PayloadExtras: Equatable, Sendable {
    /// Which alerts a Notification Service Extension may change before iOS shows them (Apple, "Modifying content in
    /// newly delivered notifications"): it can put in the name that the receiver has in the address book.
    public enum MutableContent: String, Equatable, Sendable {
        /// Messages of `plain` and `flexisip`, and of `flexisip` news of a mailbox; nothing of `mizutech`.
        case automatic = "auto"
        /// Messages and missed calls alone, of all payloads.
        case messages
        case never
    }

    public var mutableContent: MutableContent
    /// `message.android_v2` in place of `message.android` (Firebase, "Migrate to AndroidConfigV2"; preview).
    public var androidV2: Bool
    /// Google may deliver over networks with little bandwidth, such as satellites (`bandwidth_constrained_ok`).
    public var bandwidthConstrained: Bool
    /// Web Push tells the browser itself what to show (W3C Push API, "declarative push message").
    public var isDeclarative: Bool

    public init(
        mutableContent: MutableContent = .automatic, androidV2: Bool = false, bandwidthConstrained: Bool = false,
        isDeclarative: Bool = false
    ) {
        self.mutableContent = mutableContent
        self.androidV2 = androidV2
        self.bandwidthConstrained = bandwidthConstrained
        self.isDeclarative = isDeclarative
    }
}

extension PayloadExtras {
    /// Takes what the operator set.
    public init(_ settings: Settings) {
        self.init(
            mutableContent: MutableContent(rawValue: settings.text(.apnsMutableContent)) ?? .automatic,
            androidV2: settings.flag(.fcmAndroidV2), bandwidthConstrained: settings.flag(.fcmBandwidthConstrained),
            isDeclarative: HTTPOrigin.split(settings.text(.webPushNavigate)) != nil)
    }
}

/// How a message with `android_v2` goes: its priority follows from it.
enum AndroidV2Delivery: CaseIterable, Sendable {
    /// At once and whatever saves battery; the system shows it.
    case notification
    /// The same, but the app decides what is shown, and apps of before get data.
    case data
    /// When Android finds the time.
    case background

    /// The section's text: `data` is that section's own, empty for none.
    func section(data: String = "", _ extras: PayloadExtras) -> String {
        let shown = "\"notification\":{\"title\":\"<title>\",\"body\":\"<body>\"}"
        let way =
            switch self {
            case .notification: "\"remote_notification\":{\(shown)}"
            case .data:
                "\"remote_notification\":{\"mutable_content\":true,\"use_as_v1_data_message\":true,\(shown)}"
            case .background: "\"background_sync\":{}"
            }
        let own = data.isEmpty ? "" : "\"data\":\(data),"
        return "\"android_v2\":{\"ttl\":\"<ttl>s\",\(own)\(extras.constrained)\(way)}"
    }
}

extension PayloadExtras {
    /// A member of `android` and `android_v2`, its comma behind it; empty without the setting.
    var constrained: String { bandwidthConstrained ? "\"bandwidth_constrained_ok\":true," : "" }
}
