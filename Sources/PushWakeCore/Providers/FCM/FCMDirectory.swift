// SPDX-License-Identifier: MIT

/// Which service account pushes to an app.
///
/// A phone names its project (RFC 8599, 11) or its package (`X-MPUSH`). Whoever was named for it comes first, then
/// the account of that project, then the default. An account whose file is broken keeps its apps: another
/// account's push would only be refused by Google with words that cost the phone its binding.
public struct FCMDirectory: Sendable {
    /// One account, in the order of the settings.
    public struct Entry: Equatable, Sendable {
        public let apps: [String]
        /// Project of the account; nil when its file cannot be used.
        public let project: String?
        public let isDefault: Bool

        public init(apps: [String], project: String?, isDefault: Bool) {
            self.apps = apps
            self.project = project
            self.isDefault = isDefault
        }
    }

    /// Who pushes.
    public enum Choice: Equatable, Sendable {
        /// The account at this place.
        case account(Int)
        /// It would be the account at this place, but its file cannot be used.
        case broken(Int)
        /// Nobody.
        case none
    }

    private let entries: [Entry]
    private var indices: [String: Int] = [:]
    private var fallback: Int?

    public init(_ entries: [Entry]) {
        self.entries = entries
        for (index, entry) in entries.enumerated() {
            for app in entry.apps where indices[app] == nil { indices[app] = index }
            if entry.isDefault, fallback == nil { fallback = index }
        }
        for (index, entry) in entries.enumerated() {
            if let project = entry.project, indices[project] == nil { indices[project] = index }
        }
    }

    /// The account for a package or project.
    public func choice(for app: String) -> Choice {
        guard let index = indices[app] ?? fallback else { return .none }
        return entries[index].project == nil ? .broken(index) : .account(index)
    }

    /// Whether the default serves this app only because none of several accounts was named for it.
    public func isGuess(for app: String) -> Bool { entries.count > 1 && indices[app] == nil }
}
