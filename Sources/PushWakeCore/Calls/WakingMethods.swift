// SPDX-License-Identifier: MIT

/// The methods whose requests wake phones outside of a dialog (`wake_requests`).
public struct WakingMethods: Equatable, Sendable {
    /// What a setting says wrongly.
    public struct Mistake: Error, Equatable, Sendable {
        /// What to write instead.
        public let remedy: String
    }

    /// What may be written: every method that makes sense to a phone outside of a dialog.
    public static let known = ["INVITE", "MESSAGE", "REFER", "NOTIFY", "OPTIONS", "SUBSCRIBE", "PUBLISH", "INFO"]

    private let names: Set<String>

    /// Reads `INVITE, MESSAGE`, in any case; an empty text names none.
    public init(setting: String) throws(Mistake) {
        var names: Set<String> = []
        for word in setting.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }) {
            let name = word.uppercased()
            guard Self.known.contains(name) else {
                throw Mistake(remedy: "write some of \(Self.known.joined(separator: ", "))")
            }
            names.insert(name)
        }
        self.names = names
    }

    /// Those that are set; a value that `Settings` has let through names no other.
    public init(_ settings: Settings) { self = (try? Self(setting: settings.text(.wakeRequests))) ?? Self(names: []) }

    private init(names: Set<String>) { self.names = names }

    /// Whether a method is named; SIP's methods are case-sensitive (RFC 3261, 7.1).
    public func contains(_ method: String) -> Bool { names.contains(method) }
}
