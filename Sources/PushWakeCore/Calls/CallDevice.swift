// SPDX-License-Identifier: MIT

/// One device of the user that a request is for: its contacts, and whether a push can wake it.
///
/// A contact that no binding knows is a device of its own that cannot be pushed.
public struct CallDevice: Equatable, Sendable {
    /// `+sip.instance` without quotes; empty when the device sent none.
    public var instance: String
    /// Its push tokens, by which it is known again where it sends no instance.
    public var tokens: [String]
    /// The newest first.
    public var contacts: [CallContact]
    /// It would take a request now: it has just registered, or its connection is open.
    public var isAwake: Bool
    /// A push can be sent to it for this event.
    public var canBePushed: Bool
    /// Its provider answers; when it does not, a push may come too late to wait for it.
    public var isProviderHealthy: Bool
    /// Milliseconds for which the phone wants to be left to the request itself (`pn-timeout`).
    public var pushDelay: Int64
    /// The push makes it show a call at once (PushKit), which only SIP can take back.
    public var showsCallAtOnce: Bool
    /// A push can tell it how a call ended; a device with nothing but a PushKit token gets calls alone.
    public var takesNotices: Bool
    /// Its tokens are all that is known of it: they came without a REGISTER, and what it registers does not name them.
    public var hasOnlyTokens: Bool

    public init(
        instance: String = "", tokens: [String] = [], contacts: [CallContact] = [], isAwake: Bool = false,
        canBePushed: Bool = false, isProviderHealthy: Bool = true, pushDelay: Int64 = 0, showsCallAtOnce: Bool = false,
        takesNotices: Bool = true, hasOnlyTokens: Bool = false
    ) {
        self.instance = instance
        self.tokens = tokens
        self.contacts = contacts
        self.isAwake = isAwake
        self.canBePushed = canBePushed
        self.isProviderHealthy = isProviderHealthy
        self.pushDelay = pushDelay
        self.showsCallAtOnce = showsCallAtOnce
        self.takesNotices = takesNotices
        self.hasOnlyTokens = hasOnlyTokens
    }
}

/// A device that has registered, or left, while a request is held for its user.
public struct CallRegistration: Equatable, Sendable {
    /// `+sip.instance` without quotes.
    public var instance: String
    public var tokens: [String]
    public var contact: CallContact

    public init(instance: String = "", tokens: [String] = [], contact: CallContact) {
        self.instance = instance
        self.tokens = tokens
        self.contact = contact
    }
}
