// SPDX-License-Identifier: MIT

/// Push services that a binding can name. What is to be known of one outside its own folder is its row below.
public enum Provider: UInt8, Sendable, CaseIterable {
    case apns = 1
    case fcm = 2
    case webpush = 3
    case acrobits = 4
    /// A URL of the operator's own, filled in from a template.
    case webhook = 5
    /// Huawei's Push Kit, HarmonyOS 5 and later.
    case harmonyos = 6
}

/// One push service as a row of a table. An object, so that reading one field copies no others.
public final class ProviderRow: Sendable {
    /// The value of `pn-provider` (RFC 8599, 10 to 12), and the name in logs and JSON.
    public let name: String
    /// The value of `pn-provider` for its sandbox; empty when it has none.
    public let sandboxName: String
    /// Wrong names that phones send for it, and that mean nothing else.
    let aliases: [String]
    /// Phones name it themselves; a webhook serves names of its operator's.
    public let isNamed: Bool
    /// How the names of its settings begin.
    public let prefix: String
    /// What to set before any push goes through it.
    public let remedy: String
    /// Settings that name files which nobody else should read.
    public let secretFiles: [SettingKey]
    /// Whether pushes through it are set up at all.
    public let isSet: @Sendable (Settings) -> Bool
    let token: TokenRules.Form
    /// Bytes of a token that a request to it may have.
    let longestToken: Int
    /// `pn-param` has to be there.
    let isAppRequired: Bool
    /// Of several tokens of a device, that of the lowest is pushed. Apple's and Acrobits' depend on what a token is for.
    let rank: Int
    /// What to look at on a phone that is pushed and does not register.
    let phoneRemedy: String

    fileprivate init(
        name: String, sandboxName: String = "", aliases: [String] = [], isNamed: Bool = true, prefix: String,
        remedy: String,
        secretFiles: [SettingKey] = [], isSet: @escaping @Sendable (Settings) -> Bool, token: TokenRules.Form,
        longestToken: Int = SIPLimits.longestToken, isAppRequired: Bool = true, rank: Int, phoneRemedy: String
    ) {
        (self.name, self.sandboxName, self.aliases, self.isNamed) = (name, sandboxName, aliases, isNamed)
        (self.prefix, self.remedy, self.secretFiles, self.isSet) = (prefix, remedy, secretFiles, isSet)
        (self.token, self.longestToken, self.isAppRequired) = (token, longestToken, isAppRequired)
        (self.rank, self.phoneRemedy) = (rank, phoneRemedy)
    }
}

extension Provider {
    /// What is to be known of it everywhere.
    public var row: ProviderRow { Self.rows[Int(rawValue) - 1] }

    /// The name in `pn-provider`, in logs and in JSON.
    public var name: String { row.name }

    /// The values of `pn-provider` that are known, as a list in words.
    public static func names(beforeLast word: String = ",") -> String {
        let names = rows.filter(\.isNamed).flatMap { $0.sandboxName.isEmpty ? [$0.name] : [$0.name, $0.sandboxName] }
        let last = names.last ?? ""
        return names.dropLast().joined(separator: ", ") + (word == "," ? ", " : " \(word) ") + last
    }

    /// In the order of the cases.
    private static let rows: [ProviderRow] = allCases.map(row(of:))

    private static func row(of provider: Provider) -> ProviderRow {
        switch provider {
        case .apns:
            ProviderRow(
                name: "apns", sandboxName: "apns.dev", prefix: "apns_",
                remedy: "apns_key, apns_key_id and apns_team_id, or apns_cert",
                secretFiles: [.apnsKey, .apnsCert, .apnsCertPasswordFile],
                isSet: { !$0.text(.apnsKey).isEmpty || !$0.text(.apnsCert).isEmpty }, token: .apple, longestToken: 1024,
                rank: 0,
                phoneRemedy:
                    "on the phone allow the app notifications and background refresh, compare production and sandbox (apns_environment)"
            )
        case .fcm:
            ProviderRow(
                name: "fcm", aliases: ["firebase", "android"], prefix: "fcm_",
                remedy: "fcm_key to a service-account file, or fcm_app1 and fcm_key1", secretFiles: [.fcmKey],
                isSet: { FCMKeySources.areSet(in: $0) }, token: .plain, rank: 2,
                phoneRemedy: batterySaving)
        case .webpush:
            ProviderRow(
                name: "webpush", prefix: "vapid_", remedy: "vapid_key and vapid_subject", secretFiles: [.vapidKey],
                isSet: { !$0.text(.vapidKey).isEmpty }, token: .url, longestToken: 2048, isAppRequired: false, rank: 3,
                phoneRemedy: "in the browser allow notifications, and keep the browser running")
        case .acrobits:
            ProviderRow(
                name: "acrobits", prefix: "acrobits", remedy: "acrobits to 1", isSet: { $0.flag(.acrobits) },
                token: .plain, rank: 4, phoneRemedy: notifications)
        case .webhook:
            ProviderRow(
                name: "webhook", isNamed: false, prefix: "webhook_", remedy: "webhook_url and webhook_providers",
                secretFiles: [.webhookSecretFile], isSet: { !$0.text(.webhookURL).isEmpty },
                token: .plain, rank: 7, phoneRemedy: notifications)
        case .harmonyos:
            // The service account names the project, which pn-param need not.
            ProviderRow(
                name: "harmonyos", prefix: "harmonyos_", remedy: "harmonyos_key to a service-account file",
                secretFiles: [.harmonyOSKey], isSet: { !$0.text(.harmonyOSKey).isEmpty }, token: .plain,
                longestToken: 1024, isAppRequired: false, rank: 6, phoneRemedy: batterySaving)
        }
    }

    private static let notifications = "on the phone allow the app notifications"
    private static let batterySaving =
        "\(notifications) and take battery saving off it (a forced stop keeps it silent too)"
}
