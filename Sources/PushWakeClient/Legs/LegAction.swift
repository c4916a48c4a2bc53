// SPDX-License-Identifier: MIT

package import PushWakeCore

/// What `WaitingLegs` wants done, in this order.
package enum LegAction: Equatable {
    /// Send the host this SIP answer.
    case answer([UInt8])
    /// Send the engine this message, without waiting.
    case ask([UInt8])
    /// A request waits now: say who its user is (`described`). `isAgain`: for a new engine, with the contacts of now.
    case describe(LegSubject, isAgain: Bool)
    /// Ask this phone by OPTIONS whether it is there, and report the answer as that of the leg (`probed`).
    case probe(UInt64, leg: Int, contact: WakeMessage.Contact)
    /// Take this leg back from its phone: its answers count no more.
    case close(UInt64, leg: Int)
    /// Send this message to a phone, as a new request of the host's own, and report its answer as that of the leg.
    case forward(LegSubject, leg: Int, contact: WakeMessage.Contact, LegText)
    /// The request is at another phone: dial this one besides, in a channel of its own whose answer takes the call (`progressed`).
    case dial(UInt64, leg: Int, contact: WakeMessage.Contact)
    /// Send the request to this leg's phone once more, as it was.
    case resend(UInt64, leg: Int)
    /// Nothing more will be said of this request.
    case forget(UInt64)
}

/// A request that waits, as far as its host needs to know it.
package struct LegSubject: Equatable {
    package let handle: UInt64
    /// Key of the user at the registrar, and its table where it has several.
    package let aor: String
    package let domain: String
    package let callID: String
    package let method: String
}

/// A message on its way to a phone.
package struct LegText: Equatable {
    package let content: SIPContent
    package let fromURI: String
    /// Quotes and backslashes resolved; empty for none.
    package let fromDisplay: String
}

/// What a host says of the user whom a request waits for.
package struct LegUser: Equatable {
    /// Those that the registrar has now.
    package var contacts: [WakeMessage.Contact] = []
    /// What pushes and `X-Push-ID` call the request; empty: its own Call-ID.
    package var callID = ""
    /// Who calls, where the request does not say it as phones are to see it; empty: as the request says.
    package var fromURI = ""
    package var fromDisplay = ""
    /// Who calls, where `fromURI` does not say it.
    package var callerKey = ""
    /// Seconds after which the host gives the request up; 0: it does not say.
    package var seconds: Int64 = 0
    package var offersVideo = false
    /// Which phones of the user the host has dialled.
    package var scope = WakeMessage.Scope.user
    /// In a channel: all phones that wake ring, whatever `LegPolicy.ringsAll` says.
    package var ringsAll = false

    package init(contacts: [WakeMessage.Contact] = []) { self.contacts = contacts }
}

/// How a host and its requests are; times in milliseconds.
package struct LegPolicy {
    /// `dialplan`: each request is in a channel, and is at one phone at a time. `proxy`: it is at all of them.
    package var host: CallHost
    /// Its connection loses nothing.
    package var isReliable: Bool
    /// What the parameter `key` of a Request-URI must be, so that nobody else's requests wait here; empty: nothing.
    package var key = ""
    /// Pause between two provisional answers, shorter than any timer of a proxy.
    package var repetition: Int64 = 60_000
    package var wakeTimeout: Int64 = 40_000
    /// How long an engine may think before who can be reached is rung without it.
    package var engineTimeout: Int64 = 100
    /// Seconds since its REGISTER for which a phone counts as awake.
    package var awakeFor: Int64 = 0
    package var requests: RequestPolicy
    /// A call in a channel rings all phones that wake, not one at a time.
    package var ringsAll = false

    /// As the settings say.
    package init(_ settings: Settings, host: CallHost, isReliable: Bool) {
        self.host = host
        self.isReliable = isReliable
        wakeTimeout = settings.integer(.wakeTimeout) * 1000
        engineTimeout = settings.integer(.engineTimeout)
        awakeFor = settings.integer(.awakeFor)
        requests = RequestPolicy(settings)
        ringsAll = settings.flag(.ringAll)
    }
}
