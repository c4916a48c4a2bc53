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
    }

    /// A phone that is rung and says nothing for so long is pushed as well; 0: both at once, nil: never.
    public var silentAfter: Int64? = 1500
    /// How long phones that sleep are still waited for when all that rang have declined; nil: to the end.
    public var declineWaits: Int64? = 5000
    /// The same when all that rang were left ringing.
    public var noAnswerWaits: Int64? = 5000
    /// Pause before a phone that stays away is pushed again; nil: never.
    public var pushRepeat: Int64?
    /// How often at most.
    public var pushRepeats = 2
    /// What the caller hears once a phone that sleeps is pushed and none rings; 0: nothing.
    public var wakeProvisional = 110
    public var cancelRule = CancelRule.unanswered
    /// Whether phones that were pushed hear how the call ended.
    public var pushesEnd = true
    /// What the sender of a request hears when no phone woke for it and none has answered.
    public var unanswered = 480
    /// The same for a MESSAGE, which the script may store.
    public var unansweredMessage = 480

    public init() {}
}

extension CallPolicy {
    /// Reads the settings.
    public init(_ settings: Settings) {
        func milliseconds(_ key: SettingKey) -> Int64? {
            let value = settings.integer(key)
            return value < 0 ? nil : value * 1000
        }
        let silence = settings.integer(.silentAfter)
        silentAfter = silence < 0 ? nil : silence
        declineWaits = milliseconds(.declineWaits)
        noAnswerWaits = milliseconds(.noAnswerWaits)
        let pause = settings.integer(.pushRepeat)
        pushRepeat = pause > 0 ? pause * 1000 : nil
        pushRepeats = Int(settings.integer(.pushRepeats))
        wakeProvisional = Int(settings.text(.wakeProvisional)) ?? 0
        cancelRule = CancelRule(rawValue: settings.text(.cancelWhen)) ?? .unanswered
        pushesEnd = settings.flag(.cancelPush)
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
