// SPDX-License-Identifier: MIT

/// One row of the settings table: what a setting is called, what fits it, and what it means.
public struct SettingDescription: Sendable {
    /// What a value may be.
    public enum Kind: Equatable, Sendable {
        case text
        case path
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
    }

    /// Static, so that a C caller may keep the pointer.
    public let name: StaticString
    /// What a value is checked against.
    public let kind: Kind
    /// As it would be written in a file; empty for none.
    public let defaultValue: StaticString
    /// `s`, `ms`, `days`, or empty.
    public let unit: StaticString
    /// Whole sentences for docs/settings.md.
    public let help: StaticString
    /// Names of the same thing at Mizutech (`m:`) and Flexisip (`f:`), comma separated.
    public let otherNames: StaticString

    init(
        _ name: StaticString, _ kind: Kind, _ defaultValue: StaticString, unit: StaticString = "",
        other: StaticString = "", _ help: StaticString
    ) {
        self.name = name
        self.kind = kind
        self.defaultValue = defaultValue
        self.unit = unit
        self.help = help
        self.otherNames = other
    }

    /// Whether a host may hand the value over as a number.
    public var isInteger: Bool {
        switch kind {
        case .integer, .flag: true
        default: false
        }
    }
}
