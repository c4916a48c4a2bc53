// SPDX-License-Identifier: MIT

/// What a request to a user says, as far as it decides whom it wakes and what their phones are told.
public struct IncomingRequest: Equatable, Sendable {
    /// As sent: `INVITE`.
    public var method: String
    /// To has a tag (RFC 3261, 12.2).
    public var isInDialog = false
    /// `pn-purr` of the Request-URI or of a Route, as sent and not checked; empty when there is none (RFC 8599, 6.2.3).
    public var purr = ""
    /// The INVITE takes the place of a call (RFC 3891).
    public var replacesCall = false
    /// `Priority: non-urgent` (RFC 3261, 20.26).
    public var isNonUrgent = false
    /// Flexisip's `X-fs-message-type: chat-service`: for its chat server, not for the user.
    public var isForChatService = false
    /// Event, without its parameters, in lower case (RFC 6665, 8.2.1).
    public var eventPackage = ""
    /// Content-Type as sent; empty when not said.
    public var contentType = ""
    /// `Messages-Waiting: no` in the body (RFC 3842, 3.5): the mailbox was emptied.
    public var saysNoMessageWaits = false
    /// Reason, where there is one (RFC 3326).
    public var ending: CallEnding?
    public var callID = ""
    /// `sip:alice@example.com`.
    public var fromURI = ""
    /// Quotes and backslashes resolved.
    public var fromDisplay = ""
    public var toURI = ""
    /// The text of a message, or the `Voice-Message` of a mailbox: new and old ones, `2/8 (0/2)`.
    public var text = ""

    /// Knows nothing but the method.
    public init(method: String) { self.method = method }
}
