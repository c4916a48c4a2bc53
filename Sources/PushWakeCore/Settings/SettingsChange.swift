// SPDX-License-Identifier: MIT

/// What an engine that runs can do with settings that were read again.
public struct SettingsChange: Equatable, Sendable {
    /// What it goes on with: the new values, and the old ones of what takes a restart.
    public private(set) var settings: Settings
    /// Names of those that count from now on.
    public private(set) var taken: [String] = []
    /// Names of those whose new value counts after a restart.
    public private(set) var waiting: [String] = []

    /// Compares.
    public init(from old: Settings, to new: Settings) {
        settings = new
        for key in SettingKey.allCases where old.text(key) != new.text(key) {
            let row = SettingsTable.description(of: key)
            let name = row.name.description
            if row.takesRestart {
                // What was set once fits.
                try? settings.set(key, to: old.text(key))
                waiting.append(name)
            } else {
                taken.append(name)
            }
        }
        if old.fcmAccounts != new.fcmAccounts { taken.append("fcm_appN, fcm_keyN") }
    }

    /// Nothing is another.
    public var isEmpty: Bool { taken.isEmpty && waiting.isEmpty }
}
