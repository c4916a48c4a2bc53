// SPDX-License-Identifier: MIT

/// A value that does not fit its setting, or a setting that does not exist.
public struct SettingError: Error, Equatable, Sendable {
    /// Its name, or what was written in place of one.
    public let setting: String
    /// What is wrong and what to do.
    public let message: String

    public init(setting: String, message: String) {
        self.setting = setting
        self.message = message
    }
}
