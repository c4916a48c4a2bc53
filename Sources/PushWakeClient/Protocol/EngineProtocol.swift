// SPDX-License-Identifier: MIT

/// The language between engine and PBX: one message per request over a SOCK_SEQPACKET socket.
///
///     message = version(1) kind(1) id(4, little endian) *field
///     field   = tag(1) length(4, little endian) bytes
///
/// A reply carries the id of its request, so that a client which gave up on a slow answer
/// recognises it later and drops it. Unknown tags are skipped: fields may be added, kinds and
/// the meaning of a tag may not change without a new version.
public enum EngineProtocol {
    /// First byte of every message.
    public static let version: UInt8 = 1
    /// Bytes of version, kind and id.
    public static let headerLength = 6
    /// Longest message, fields included. A REGISTER of 64 kB (the limit of UDP) fits.
    public static let longestMessage = 160 * 1024

    /// What a message is.
    public enum Kind: UInt8, Sendable {
        case register = 1
        case wake = 2
        /// A phone is there, as waiting legs or another node have found out.
        case registered = 4
        case send = 5
        case query = 6
        /// From now on this connection gets a `result` for every push that ends.
        case subscribe = 7
        /// As `wake`, and the connection then gets `waitEvent`s until it is closed.
        case wait = 8
        /// The connection waits no more, and the call goes on: its end is not a hang-up.
        case stopWaiting = 9
        /// A leg of a request has an answer. No reply.
        case progressed = 10
        /// A request has its final answer. No reply.
        case requestEnded = 11
        /// A request that another engine watched.
        case resume = 12
        /// Whose device a PURR names.
        case purrUser = 13
        /// A request was sent elsewhere, and phones may still join. No reply.
        case requestContinues = 14
        /// Bindings of another store, a line of JSON each.
        case takeBindings = 15
        /// As `register`, of a phone that is not registered yet: which contacts it leaves. Changes nothing.
        case registerLeaves = 16
        /// As `register`, before the registrar has it: whether it must be refused. Changes nothing.
        case registerCheck = 18
        /// Somebody has removed a contact at the registrar by hand, or all that a user has. No reply.
        case contactRemoved = 17
        /// A phone's REGISTER that belongs to a SIP server behind the host.
        case upstreamRegister = 30
        /// What a SIP server said to a REGISTER of the gateway.
        case upstreamAnswered = 31
        case reply = 64
        case failure = 65
        case result = 66
        case waitEvent = 67
        /// What the host has to do for requests that it holds.
        case verbs = 68
        /// What the host has to do for the gateway.
        case upstream = 80
    }

    /// What a field holds.
    public enum Tag: UInt8, Sendable {
        case aor = 1
        case callID = 2
        case cseq = 3
        case granted = 4
        case headerName = 5
        /// Ends the header that `headerName` began.
        case headerValue = 6
        case event = 7
        case seconds = 8
        case fromURI = 9
        case fromDisplay = 10
        case toURI = 11
        case contentType = 12
        case text = 13
        case title = 14
        case contactURI = 15
        case contactInstance = 16
        case contactAge = 17
        /// Ends the contact that `contactURI` began.
        case contactReachable = 18
        case how = 19
        case provider = 20
        case app = 21
        case token = 22
        case query = 23
        case argument = 24
        case cursor = 25
        case outcome = 26
        case bindings = 27
        case pushed = 28
        case awake = 29
        /// One byte per contact, in order.
        case verdicts = 30
        case featureCaps = 33
        case problem = 34
        case staleContact = 35
        case row = 37
        case name = 38
        case number = 39
        case message = 41
        case pushID = 42
        case httpStatus = 43
        case removed = 44
        case microseconds = 45
        case reason = 46
        case kind = 47
        /// The sender waits for the outcomes before the reply.
        case waits = 48
        /// The sender does not know the contacts of the user.
        case withoutContacts = 49
        /// An attribute of a binding that is given by hand; `attributeValue` ends it.
        case attributeName = 60
        case attributeValue = 61
        /// `production` or `sandbox`.
        case environment = 62
        /// `voip` or `remote`.
        case service = 63
        /// `voip`, `alert` or `background`, where somebody asked for it.
        case pushType = 64
        /// In a failure: there is no such user.
        case missing = 65
        /// In a failure: the store cannot be asked now.
        case storeAway = 66
        /// Begins a verb; the fields up to the next one are its own.
        case verb = 70
        case handle = 71
        case leg = 72
        case replaces = 73
        case status = 74
        case milliseconds = 75
        case domain = 76
        /// Names the processes of one PBX.
        case host = 77
        case ticket = 78
        case limit = 79
        case contactKey = 100
        case contactFlow = 101
        case contactRegistration = 102
        case contactProxy = 103
        /// Two bytes per contact, in order: the number of its leg.
        case legs = 104
        case watched = 105
        case fromTag = 106
        case method = 107
        case fromPhone = 108
        case pushedDevices = 109
        case lastLeg = 110
        /// Path of a contact, or the way to one that registered at another node.
        case contactPath = 114
        /// `reg-id` of a contact.
        case contactFlowNumber = 115
        /// Seconds that the registrar granted a contact; below 0 for one that does not expire.
        case contactExpires = 116
        case hold = 111
        case occasion = 112
        /// Names the device of a dialog, as the request has it (RFC 8599, 6).
        case purr = 113
        /// Who calls, where `fromURI` does not say it.
        case callerKey = 117
        /// When the request was sent, in monotonic milliseconds of the host.
        case sentAt = 90
        /// Milliseconds that the sender waits for the reply.
        case senderTimeout = 91
        /// Begins an order of the gateway; the fields up to the next one are its own.
        case upstreamAction = 160
        case upstreamID = 161
        case requestURI = 162
        /// The next hop, as a SIP URI.
        case route = 163
        /// Host and port of the host itself.
        case local = 164
        /// Seconds.
        case atMost = 165
        /// Whole header lines, each with its end.
        case headerLines = 166
        /// Name of an upstream registration.
        case account = 167
        /// The host sends REGISTERs of the gateway.
        case sendsUpstream = 168
        /// `enum pushwake_host`.
        case hostKind = 92
        /// 1: the caller offers video.
        case video = 93
        /// 1: the caller takes provisional answers with RSeq only.
        case reliable = 94
        /// In a ticket: the request was taken before its bindings were known.
        case bindingsPending = 95
        /// 1: the request is held by waiting legs, and its verbs go to the supervisor of its host alone.
        case waitingLeg = 96
        /// In a `registerCheck`: what the host has set.
        case sends555 = 98
        case minExpires = 99
        /// Which phones of the user a request is for (`WakeMessage.Scope`).
        case scope = 97
    }
}
