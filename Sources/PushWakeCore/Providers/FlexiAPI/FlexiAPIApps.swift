// SPDX-License-Identifier: MIT

/// Which apps are woken through FlexiAPI: their phones name Apple or Google, as all do, and only the setting knows that
/// the keys for them are the vendor's.
public struct FlexiAPIApps: Equatable, Sendable {
    /// All apps of a provider, or one of them.
    private struct Entry: Equatable, Sendable {
        let provider: Provider
        /// Bundle id, package or project; empty for all.
        let app: String
    }

    /// An entry of the list that is none.
    public struct Mistake: Error, Equatable, Sendable {
        public let entry: String
    }

    /// None.
    public static let none = FlexiAPIApps()
    /// Services that FlexiAPI knows.
    private static let served = [Provider.apns, .fcm]

    private var entries: [Entry] = []

    private init() {}

    /// Reads `apns.org.linphone.phone, fcm.929724111839`; a provider alone stands for all of its apps.
    public init(setting: String) throws(Mistake) {
        for part in setting.split(separator: ",") {
            let words = part.split(separator: " ")
            guard let word = words.first else { continue }
            guard words.count == 1, let entry = Self.entry(word) else { throw Mistake(entry: String(part)) }
            entries.append(entry)
        }
    }

    /// Reads the settings; nothing is served without a URL. A list that makes no sense serves nobody.
    public init(_ settings: Settings) {
        guard !settings.text(.flexiAPIURL).isEmpty else { return }
        self = (try? FlexiAPIApps(setting: settings.text(.flexiAPIApps))) ?? .none
    }

    /// An app that no push can go to: the service refuses its name.
    public var unusable: String? { entries.first { !$0.app.isEmpty && !FlexiAPIRequest.takes(app: $0.app) }?.app }

    /// Nothing is served.
    public var isEmpty: Bool { entries.isEmpty }

    /// Services of which at least one app is served.
    public var providers: [Provider] { Self.served.filter { provider in entries.contains { $0.provider == provider } } }

    /// Whether pushes to this binding go to FlexiAPI.
    public func serves(_ binding: Binding) -> Bool {
        guard !entries.isEmpty else { return false }
        let app = binding.provider == .apns ? APNsTopic.bundle(of: binding.app) : binding.app[...]
        return entries.contains { $0.provider == binding.provider && ($0.app.isEmpty || $0.app == app) }
    }

    private static func entry(_ word: Substring) -> Entry? {
        for provider in served {
            if word == provider.name { return Entry(provider: provider, app: "") }
            let prefix = "\(provider.name)."
            guard word.hasPrefix(prefix), word.utf8.count > prefix.utf8.count else { continue }
            return Entry(provider: provider, app: String(word.dropFirst(prefix.count)))
        }
        return nil
    }
}
