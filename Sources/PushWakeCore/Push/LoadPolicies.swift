// SPDX-License-Identifier: MIT

/// Which policy each event has.
public struct LoadPolicies: Equatable, Sendable {
    private let calls: LoadPolicy
    private let cancels: LoadPolicy
    private let chats: LoadPolicy
    private let missed: LoadPolicy
    private let refreshes: LoadPolicy

    /// Takes what the operator set.
    public init(_ settings: Settings) {
        func policy(_ key: SettingKey) -> LoadPolicy { LoadPolicy(name: settings.text(key)) ?? .always }
        calls = policy(.loadCall)
        cancels = policy(.loadCancel)
        chats = policy(.loadChat)
        missed = policy(.loadMissed)
        refreshes = policy(.loadRefresh)
    }

    /// The policy of an event; voicemail, REFER and texts by hand go with chat, news of an answer elsewhere with cancel.
    public subscript(event: PushEvent) -> LoadPolicy {
        switch event {
        case .call: calls
        case .cancel, .answeredElsewhere: cancels
        case .chat, .groupChat, .custom, .voicemail, .refer: chats
        case .missed: missed
        case .refresh: refreshes
        }
    }
}
