// SPDX-License-Identifier: MIT

/// A setting of Mizutech's or Flexisip's, and what stands for it here. Who moves finds each of their names, with the
/// setting that does the same or the reason why there is none.
public struct ForeignSetting: Sendable {
    /// Whose name it is.
    public enum Vendor: String, Sendable, CaseIterable {
        case mizutech = "Mizutech"
        case flexisip = "Flexisip"
    }

    public let vendor: Vendor
    /// As its documents have it, without the section.
    public let name: StaticString
    /// The setting that does the same; nil when there is none.
    public let key: SettingKey?
    /// How values differ, or why there is no such setting. Empty when it is the same.
    public let note: StaticString

    private init(_ vendor: Vendor, _ name: StaticString, _ key: SettingKey?, _ note: StaticString) {
        self.vendor = vendor
        self.name = name
        self.key = key
        self.note = note
    }

    static func mizutech(_ name: StaticString, _ key: SettingKey?, _ note: StaticString = "") -> Self {
        Self(.mizutech, name, key, note)
    }

    static func flexisip(_ name: StaticString, _ key: SettingKey?, _ note: StaticString = "") -> Self {
        Self(.flexisip, name, key, note)
    }

    /// All of them, in the order of their vendors' documents.
    public static let all = mizutech + mizutechServers + flexisip

    /// The one with this name, with or without its section (`module::PushNotification/no-badge`).
    static func named(_ name: String) -> Self? {
        let bare = name.split(separator: "/").last.map(String.init) ?? name
        return byName[name] ?? byName[bare]
    }

    private static let byName = Dictionary(all.map { ($0.name.description, $0) }) { first, _ in first }

    /// For who wrote the name where ours belongs.
    var remedy: String {
        guard let key else { return note.description }
        let name = SettingsTable.description(of: key).name
        let difference = note.utf8CodeUnitCount > 0 ? " (\(note))" : ""
        return "there is no such setting; here it is called \(name)\(difference)"
    }
}

extension ForeignSetting {
    /// Google's legacy HTTP API ended in July 2024.
    static let legacyFCM: StaticString =
        "Google switched off the legacy FCM API in 2024; use fcm_key with a service-account file"
    /// Apple's binary protocol ended in March 2021.
    static let binaryAPNs: StaticString =
        "Apple switched off its binary protocol in 2021; use apns_key or apns_cert, which speak HTTP/2"
    static let windowsPhone: StaticString =
        "Microsoft switched off push for Windows Phone; there is nothing to set in its place"
}
