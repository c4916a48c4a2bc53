// SPDX-License-Identifier: MIT

/// How `apns-topic` comes about (Mizutech's `pushnotification_topic`).
public enum APNsTopic: Equatable, Sendable {
    /// The bundle id that the phone sent, with `.voip` for a voip push.
    case automatic
    /// None: only a certificate with a single topic can do without.
    case omitted
    /// The bundle id, never with a suffix.
    case package
    /// The same for every push.
    case fixed(String)

    /// Reads a setting: empty or `set`, `null`, `packagename`, or the topic itself.
    public init(setting: String) {
        switch setting {
        case "", "set": self = .automatic
        case "null": self = .omitted
        case "packagename": self = .package
        default: self = .fixed(setting)
        }
    }

    /// Whether it can stand in a header field.
    public var isSendable: Bool {
        if case .fixed(let topic) = self { HeaderText.isFieldValue(topic) } else { true }
    }

    /// The topic for one push; nil for none.
    func value(for app: String, _ type: APNsPushType) -> String? {
        switch self {
        case .automatic:
            type == .voip ? "\(Self.bundle(of: app)).voip" : String(Self.bundle(of: app))
        case .omitted: nil
        case .package: String(Self.bundle(of: app))
        case .fixed(let topic): topic
        }
    }

    /// The bundle id without the `.voip` that some phones put behind it.
    static func bundle(of app: String) -> Substring {
        app.utf8.count > 5 && app.hasSuffix(".voip") ? app.dropLast(5) : app[...]
    }
}
