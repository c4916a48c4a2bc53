// SPDX-License-Identifier: MIT

public import PushWakeCore

/// Looks at all settings together and at the files they name.
public enum SettingsInspection {
    /// One thing that is wrong, and the remedy.
    public struct Finding: Equatable, Sendable {
        /// `error`: cannot be meant, do not start. `warning`: calls go through, pushes will not.
        public let level: LogLevel
        public let setting: String
        public let message: String
    }

    /// All findings, errors first.
    public static func inspect(_ settings: Settings) -> [Finding] { [] }
}
