// SPDX-License-Identifier: MIT

/// One row of the settings table: what a setting is called, what fits it, and what it means.
public struct SettingDescription: Sendable {
    /// What a value may be.
    public enum Kind: Equatable, Sendable {
        case text
        case path
        /// `@/path` stands for a file with the text (`TextOrFile`).
        case textOrFile
        /// `https://host[:port]`, no path.
        case origin
        /// `https://host[:port]/path`.
        case url
        /// `[http://][user:password@]host:port`; a secret, as it may hold a password.
        case proxy
        case integer(ClosedRange<Int64>)
        /// 0 or 1; also yes/no, on/off, true/false.
        case flag
        case choice([String])
        /// Names of built-in payloads (`PayloadFamilies`).
        case payloads
        /// Methods that wake phones (`WakingMethods`).
        case methods
        /// `sqlite`, `memory` or the address of a server (`StoreChoice`).
        case store
        /// A SIP URI of a host, or empty.
        case nodeURI
        /// `host:port`, perhaps after a transport (`CaptureAddress`), or empty.
        case capture
    }

    /// What the settings call it.
    public let key: SettingKey
    /// Static, so that a C caller may keep the pointer.
    public let name: StaticString
    /// What a value is checked against.
    public let kind: Kind
    /// As it would be written in a file; empty for none.
    public let defaultValue: StaticString
    /// `s`, `ms`, `days`, or empty.
    public let unit: StaticString
    /// A value other than the default, for docs/settings.md.
    public let example: String
    /// Whether what it decides is decided once, when the engine starts: where it listens, where bindings are and how
    /// they are found, and what memory is set aside.
    public let takesRestart: Bool
    /// Whole sentences for docs/settings.md.
    public let help: StaticString
    /// What it stands under.
    public internal(set) var heading = SettingHeading.engine

    /// A flag and a choice need no example.
    init(
        _ key: SettingKey, _ name: StaticString, _ kind: Kind, _ defaultValue: StaticString, unit: StaticString = "",
        example: StaticString = "", takesRestart: Bool = false, _ help: StaticString
    ) {
        (self.key, self.name, self.kind, self.defaultValue) = (key, name, kind, defaultValue)
        (self.unit, self.takesRestart, self.help) = (unit, takesRestart, help)
        self.example =
            switch kind {
            case .flag: defaultValue.description == "0" ? "1" : "0"
            case .choice(let choices): choices.first { $0 != defaultValue.description } ?? ""
            default: example.description
            }
    }

    /// Whether a host may hand the value over as a number.
    public var isInteger: Bool {
        switch kind {
        case .integer, .flag: true
        default: false
        }
    }
}

/// A value that does not fit its setting, or a setting that does not exist.
public struct SettingError: Error, Equatable, Sendable {
    /// Its name, or what was written in place of one.
    public let setting: String
    /// What is wrong and what to do.
    public let message: String

    public init(setting: String, message: String) {
        // A line of a file that is none may hold what a terminal obeys.
        self.setting = PrintableText.cleaned(setting)
        self.message = message
    }
}
