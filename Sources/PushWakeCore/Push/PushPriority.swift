// SPDX-License-Identifier: MIT

/// How urgent a push is, the most urgent first.
public enum PushPriority: Int, CaseIterable, Sendable {
    case call
    case message
    case refresh

    /// The class of an event: what tells a phone to ring or to stop goes first.
    public init(of event: PushEvent) {
        switch event {
        case .call, .cancel, .answeredElsewhere: self = .call
        case .chat, .custom, .missed, .groupChat, .voicemail, .refer: self = .message
        case .refresh: self = .refresh
        }
    }
}
