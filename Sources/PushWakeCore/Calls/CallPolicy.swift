// SPDX-License-Identifier: MIT

/// What the settings say about held requests; times in milliseconds.
public struct CallPolicy: Equatable, Sendable {
    /// Whom the end notice of a cancelled call is pushed to (Mizutech's `pushnotification_cancel_when`).
    public enum CancelRule: String, Sendable, CaseIterable {
        /// Phones that were pushed and have not answered over SIP.
        case unanswered
        /// All phones that were pushed.
        case pushed
        /// All phones that can be pushed.
        case always
        /// None, however the call ended.
        case never
    }

    /// A phone that is rung and says nothing for so long is pushed as well; 0: both at once, nil: never.
    public var silentAfter: Int64? = 1500
    /// How long phones that sleep are still waited for when all that rang have declined, or were left ringing; nil: to the
    /// end.
    public var declineWaits: Int64? = 5000
    /// Pause before a phone that stays away is pushed again; nil: never.
    public var pushRepeat: Int64?
    /// How often at most.
    public var pushRepeats = 2
    /// What the caller hears once a phone that sleeps is pushed and none rings; 0: nothing.
    public var wakeProvisional = 110
    public var cancelRule = CancelRule.unanswered
    /// What the sender of a request hears when no phone woke for it and none has answered.
    public var unanswered = 480
    /// The same for a MESSAGE, which the script may store.
    public var unansweredMessage = 480

    /// Whether a phone that registers, and that nothing was known of, takes part.
    public var joinsOthers = true

    public init() {}
}

extension CallPolicy {
    /// Reads the settings.
    public init(_ settings: Settings) {
        let (silence, decline) = (settings.integer(.silentAfter), settings.integer(.declineWaits))
        silentAfter = silence < 0 ? nil : silence
        declineWaits = decline < 0 ? nil : decline * 1000
        let pause = settings.integer(.pushRepeat)
        pushRepeat = pause > 0 ? pause * 1000 : nil
        pushRepeats = Int(settings.integer(.pushRepeats))
        wakeProvisional = Int(settings.text(.wakeProvisional)) ?? 0
        cancelRule = CancelRule(rawValue: settings.text(.cancelWhen)) ?? .unanswered
        unansweredMessage = settings.text(.unansweredMessage) == "accept" ? 202 : 480
    }

    /// For a request of this method. Within a dialog 480 would end it (RFC 8599, 6.2.3; RFC 5057, 5.1).
    public func of(_ method: String, isInDialog: Bool) -> CallPolicy {
        var policy = self
        policy.unanswered = isInDialog ? 504 : method == "MESSAGE" ? unansweredMessage : unanswered
        return policy
    }
}

/// How a host sends legs and ends a request; raw values are `enum pushwake_host`.
public enum CallHost: UInt8, Sendable {
    /// It sends a leg when it is told to, and answers the caller by itself when the last one has failed.
    case proxy = 0
    /// Its script sends legs when it comes to them, and goes on when it is told that nobody is waited for.
    case dialplan = 1

    /// Whether its callers can hear this status: Asterisk has no word for others.
    public func canSay(provisional status: Int) -> Bool { self == .proxy || status == 180 || status == 183 }
}
