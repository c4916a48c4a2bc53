// SPDX-License-Identifier: MIT

/// The English that titles and bodies are made of, and Flexisip's localisation keys.
enum PayloadWording {
    /// A sentence about somebody, and what to say when nobody is named.
    struct Phrase {
        let before: String
        let after: String
        let withoutName: String

        init(_ before: String, _ after: String = "", withoutName: String) {
            self.before = before
            self.after = after
            self.withoutName = withoutName
        }

        /// The sentence names somebody.
        var isAboutSomebody: Bool { !before.isEmpty || !after.isEmpty }
    }

    /// TITLE; Mizutech's words for calls.
    static func title(of event: PushEvent, _ occasion: PushOccasion) -> Phrase {
        if occasion == .declinedElsewhere {
            return Phrase("Call from ", " declined elsewhere", withoutName: "Call declined elsewhere")
        }
        return title(of: event)
    }

    private static func title(of event: PushEvent) -> Phrase {
        switch event {
        case .call: Phrase("Call from ", withoutName: "Incoming call")
        case .chat: Phrase("Message from ", withoutName: "New message")
        case .cancel: Phrase("Call from ", " ended", withoutName: "Call ended")
        case .custom: Phrase("Message from ", withoutName: "Message")
        case .refresh: Phrase("", withoutName: "")
        case .missed: Phrase("Missed call from ", withoutName: "Missed call")
        case .answeredElsewhere: Phrase("Call from ", " answered elsewhere", withoutName: "Call answered elsewhere")
        case .groupChat: Phrase("Invitation from ", withoutName: "Group chat")
        // Its sender is the mailbox, not who left the message.
        case .voicemail: Phrase("", withoutName: "New voice message")
        case .refer: Phrase("Request from ", withoutName: "New request")
        }
    }

    /// BODY and MESSAGE; Mizutech's words for calls. A chat with text shows its text instead.
    static func body(of event: PushEvent, _ occasion: PushOccasion) -> Phrase {
        switch event {
        case .call: Phrase("Incoming VoIP call from ", withoutName: "Incoming VoIP call")
        case .groupChat: Phrase("", " invites you to a group chat", withoutName: "You are invited to a group chat")
        default: title(of: event, occasion)
        }
    }

    /// What Flexisip's external push calls a provider (`$type`).
    static func platform(of binding: Binding) -> String {
        switch binding.provider {
        case .apns: "apple"
        case .fcm: "firebase"
        default: binding.providerName
        }
    }

    /// Flexisip's key for a message that waits in a mailbox.
    static let waitingKey = "MWI_NOTIFY_STR"

    /// `loc-key` of an Apple push: the phone's attribute, or Flexisip's default.
    static func alertKey(of event: PushEvent, _ occasion: PushOccasion, attributes: Binding.Attributes) -> String {
        if occasion == .declinedElsewhere {
            return attributes[.declinedText] ?? "Declined elsewhere"
        }
        return switch event {
        case .call: attributes[.callText] ?? "IC_MSG"
        case .chat, .custom: attributes[.messageText] ?? "IM_MSG"
        case .groupChat: attributes[.groupChatText] ?? "GC_MSG"
        case .voicemail: attributes[.waitingText] ?? waitingKey
        case .refer: "IC_SIL"
        case .cancel, .missed: attributes[.missedText] ?? "Missing call"
        case .answeredElsewhere: attributes[.elsewhereText] ?? "Accepted elsewhere"
        case .refresh: ""
        }
    }
}
