// SPDX-License-Identifier: MIT

/// What a push tells the phone. Raw values are Mizutech's TYPE for 0 to 4.
public enum PushEvent: UInt8, Sendable, CaseIterable {
    case call = 0
    case chat = 1
    /// The caller hung up before the phone woke.
    case cancel = 2
    case custom = 3
    /// Register again, please.
    case refresh = 4
    case missed = 5
    case answeredElsewhere = 6
    case groupChat = 7
    /// A message waits in the user's mailbox (NOTIFY of `message-summary`, RFC 3842).
    case voicemail = 8
    /// Somebody asks the phone to call somebody else (REFER outside a dialog, RFC 3515).
    case refer = 9

    /// As settings, hosts and payloads write it.
    public var name: String {
        switch self {
        case .call: "call"
        case .chat: "chat"
        case .cancel: "cancel"
        case .custom: "custom"
        case .refresh: "refresh"
        case .missed: "missed"
        case .answeredElsewhere: "elsewhere"
        case .groupChat: "group-chat"
        case .voicemail: "voicemail"
        case .refer: "refer"
        }
    }

    /// A message's push may be all that the phone ever gets of it; a call's has an INVITE to follow.
    public var isMessage: Bool { self == .chat || self == .groupChat || self == .voicemail }

    /// All names, for people: `call, chat, …, refer`.
    public static var names: String { allCases.map(\.name).joined(separator: ", ") }

    /// The event with this name, or with this number.
    public init?(name: String) {
        guard let event = Self.allCases.first(where: { $0.name == name || String($0.rawValue) == name }) else {
            return nil
        }
        self = event
    }
}

/// What stands behind an event where the event alone does not tell: it decides words and haste, never who is pushed.
public enum PushOccasion: UInt8, Sendable, CaseIterable {
    /// What the event's name says.
    case usual = 0
    /// A request waits for the phone that has no event of its own, such as an UPDATE within a dialog: the phone shall
    /// register at once, and nobody is told.
    case requestWaiting = 1
    /// Another phone declined the call (`Reason: SIP;cause=600`, RFC 3326).
    case declinedElsewhere = 2
}
