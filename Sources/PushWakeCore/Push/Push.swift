// SPDX-License-Identifier: MIT

/// One push: the token it goes to, what it is about, and how long it is of use.
///
/// Its job holds it as a part of itself. It goes through many hands, and a copy counts a reference for each text: who needs it
/// only for a while borrows it.
public struct Push: Sendable {
    public let binding: Binding
    public let content: PushContent
    /// For Apple: the kind of push; nil for the others.
    public var type: APNsPushType?
    /// The type was asked for by hand: the settings put no other in its place.
    public let isTypeGiven: Bool
    /// Monotonic milliseconds from which on it is of no use.
    public let deadline: Int64
    /// A request has asked for it at once, and not for want of an answer: it is measured when it is written.
    public let isPrompt: Bool

    public init(
        _ binding: Binding, _ content: PushContent, type: APNsPushType? = nil, isTypeGiven: Bool = false,
        deadline: Int64 = .max, isPrompt: Bool = false
    ) {
        self.binding = binding
        self.content = content
        self.type = type
        self.isTypeGiven = isTypeGiven
        self.deadline = deadline
        self.isPrompt = isPrompt
    }
}

/// What a push is about: the values every payload template draws on.
///
/// Text comes from SIP headers and may hold any bytes; rendering makes it valid JSON.
public struct PushContent: Equatable, Sendable {
    public var event: PushEvent
    public var occasion: PushOccasion
    /// Call-ID of the request, which ties the push to the INVITE that follows.
    public var callID: String
    /// `sip:alice@example.com`, as sent.
    public var fromURI: String
    /// Display name, quoted-pairs resolved, quotes removed.
    public var fromDisplay: String
    /// To, as sent.
    public var toURI: String
    /// Text of a MESSAGE, or of a custom push.
    public var text: String
    /// Overrides the title that the event would give.
    public var title: String
    /// Seconds the push is of use: ring time for a call. 0: now or never.
    public var timeToLive: UInt32
    /// Seconds since 1970 at which the request came in; of a call that is over, at which the call did.
    public var sentAt: Int64
    /// Seconds since 1970 at which nobody waits for the phone any more; 0: the time to live after the push is built.
    public var endsAt: Int64
    /// The caller offers video.
    public var hasVideo = false
    /// Tag of the request's From.
    public var fromTag = ""
    /// Who calls, where `fromURI` does not say it; shown to nobody.
    public var callerKey = ""

    public init(
        event: PushEvent, occasion: PushOccasion = .usual, callID: String = "", fromURI: String = "",
        fromDisplay: String = "", toURI: String = "",
        text: String = "", title: String = "", timeToLive: UInt32 = 0, sentAt: Int64 = 0, endsAt: Int64 = 0
    ) {
        self.event = event
        self.occasion = occasion
        self.callID = callID
        self.fromURI = fromURI
        self.fromDisplay = fromDisplay
        self.toURI = toURI
        self.text = text
        self.title = title
        self.timeToLive = timeToLive
        self.sentAt = sentAt
        self.endsAt = endsAt
    }
}

extension PushContent {
    /// Whether the phone shall be woken at once, and not when it wakes up anyway.
    func isUrgent(_ settings: PayloadSettings) -> Bool {
        switch event {
        case .refresh: occasion == .requestWaiting
        case .voicemail: settings.isVoicemailUrgent
        case .call, .chat, .cancel, .custom, .missed, .answeredElsewhere, .groupChat, .refer: true
        }
    }
}

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
