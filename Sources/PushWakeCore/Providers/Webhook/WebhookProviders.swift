// SPDX-License-Identifier: MIT

/// Which push services a webhook serves.
public struct WebhookProviders: Equatable, Sendable {
    /// None.
    public static let none = WebhookProviders()
    /// Longest name of a service, bytes.
    static let longestName = 32

    /// Names that PushWake does not know, lower case, in the order given.
    public private(set) var names: [String] = []
    /// Services of PushWake's own that the webhook takes over.
    public private(set) var known: [Provider] = []
    private var servesAnyName = false

    private init() {}

    /// Reads a comma-separated list: names, `*` for any that PushWake does not know. Throws the entry that is none.
    public init(setting: String) throws(Mistake) {
        for part in setting.split(separator: ",") {
            let words = part.split(separator: " ")
            guard words.count < 2 else { throw Mistake(entry: String(part)) }
            guard let word = words.first else { continue }
            try add(word.lowercased())
        }
    }

    /// An entry of the list that is not a name.
    public struct Mistake: Error, Equatable, Sendable {
        public let entry: String
    }

    /// Reads the settings; nothing is served without a URL. A list that makes no sense serves nobody.
    public init(_ settings: Settings) {
        guard !settings.text(.webhookURL).isEmpty else { return }
        self = (try? WebhookProviders(setting: settings.text(.webhookProviders))) ?? .none
    }

    /// Whether a service that PushWake does not know is served, by the name the phone gave, in any case.
    public func serves(named name: String) -> Bool {
        guard Self.isName(name) else { return false }
        return servesAnyName || names.contains(name.lowercased())
    }

    /// Whether one of PushWake's own services goes through the webhook.
    public func takesOver(_ provider: Provider) -> Bool { known.contains(provider) }

    /// Whether the webhook pushes to this binding.
    public func serves(_ binding: Binding) -> Bool {
        guard binding.provider == .webhook else { return takesOver(binding.provider) }
        return serves(named: binding.providerName)
    }

    private mutating func add(_ name: String) throws(Mistake) {
        if name == "*" {
            servesAnyName = true
        } else if let provider = Provider.allCases.first(where: { $0.name == name && $0 != .webhook }) {
            if !known.contains(provider) { known.append(provider) }
        } else {
            guard Self.isName(name) else { throw Mistake(entry: name) }
            if !names.contains(name) { names.append(name) }
        }
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= longestName && ByteClass.tagValue.containsAll(of: name)
    }
}

extension Binding {
    /// Wish under which a binding of a service that PushWake does not know keeps that service's name.
    static let providerNameAttribute = PushParameterName.provider.rawValue

    /// What the phone calls its push service: `pn-provider`, in lower case.
    public var providerName: String {
        guard provider == .webhook else { return provider.name }
        return attributes[Self.providerNameAttribute] ?? provider.name
    }

    /// A binding of a service that only a webhook may know; `name` as the phone said it.
    public init(
        otherService name: String, app: String, token: String, dialect: Dialect, attributes: Attributes = Attributes()
    ) {
        var attributes = attributes
        attributes[Self.providerNameAttribute] = name.lowercased()
        self.init(provider: .webhook, app: app, token: token, dialect: dialect, attributes: attributes)
    }
}
