// SPDX-License-Identifier: MIT

/// Whether an event is worth a push under load (Mizutech's `pushnotification`, `…_chat`, `…_cancel`).
public enum LoadPolicy: UInt8, Sendable, CaseIterable {
    case never = 0
    case onLowLoad = 1
    case unlessOverloaded = 2
    case always = 3

    /// The word that stands for it in the settings.
    public var name: String {
        switch self {
        case .never: "never"
        case .onLowLoad: "low_load"
        case .unlessOverloaded: "unless_overloaded"
        case .always: "always"
        }
    }

    /// The policy with this name.
    public init?(name: String) {
        guard let policy = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = policy
    }

    /// True when a push may be sent at this level.
    public func allows(_ level: LoadLevel) -> Bool {
        switch self {
        case .never: false
        case .onLowLoad: level <= .normal
        case .unlessOverloaded: level < .extreme
        case .always: true
        }
    }

    /// How a push ends that may not be sent; nil when it may.
    public func refusal(at level: LoadLevel) -> Verdict? {
        guard !allows(level) else { return nil }
        // Switched off is nobody's overload, and waiting does not help.
        if self == .never { return Verdict(.rejected, reason: "SwitchedOff") }
        return Verdict(.overloaded, reason: "LoadLevel \(level.rawValue)")
    }
}

/// Which policy each event has.
public struct LoadPolicies: Equatable, Sendable {
    private let calls: LoadPolicy
    private let cancels: LoadPolicy
    private let chats: LoadPolicy

    /// Takes what the operator set.
    public init(_ settings: Settings) {
        func policy(_ key: SettingKey) -> LoadPolicy { LoadPolicy(name: settings.text(key)) ?? .always }
        calls = policy(.loadCall)
        cancels = policy(.loadCancel)
        chats = policy(.loadChat)
    }

    /// The policy of an event; what is neither a call nor the notice of its end goes with chat.
    public subscript(event: PushEvent) -> LoadPolicy {
        switch event {
        case .call: calls
        case .cancel, .answeredElsewhere: cancels
        case .chat, .groupChat, .custom, .voicemail, .refer, .missed, .refresh: chats
        }
    }
}
