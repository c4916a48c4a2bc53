// SPDX-License-Identifier: MIT

/// A service-account file that the settings name, and whom it is for.
///
/// | where | for whom |
/// |---|---|
/// | `fcm_keyN` | package or project `fcm_appN`, and its own project |
/// | `fcmkey.PACKAGE.json` | package or project PACKAGE, and its own project |
/// | `fcm_key`, else `fcmkey.json` | everybody else |
public struct FCMKeySource: Equatable, Sendable {
    /// Setting to name when the file cannot be used.
    public let setting: String
    /// Of the JSON file; relative where the settings are.
    public let path: String
    /// Packages and projects that were named for it.
    public internal(set) var apps: [String]
    /// It serves every app that none other serves.
    public internal(set) var isDefault: Bool

    public init(setting: String, path: String, apps: [String] = [], isDefault: Bool = false) {
        self.setting = setting
        self.path = path
        self.apps = apps
        self.isDefault = isDefault
    }
}
