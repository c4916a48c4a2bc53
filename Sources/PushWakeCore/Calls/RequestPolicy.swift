// SPDX-License-Identifier: MIT

/// Which requests to a user wake phones that sleep, with which event, and how long they may be held.
///
/// | request                        | outside of a dialog                        | within one, with a PURR |
/// |--------------------------------|--------------------------------------------|-------------------------|
/// | INVITE                         | call; group chat with a list of members    | the same                |
/// | MESSAGE                        | chat                                       | chat                    |
/// | NOTIFY of `message-summary`    | voicemail                                  | voicemail               |
/// | REFER                          | refer                                      | silent                  |
/// | OPTIONS, SUBSCRIBE, …          | silent, when `wake_requests` names them    | silent                  |
/// | BYE, UPDATE                    | nobody                                     | silent                  |
/// | ACK, PRACK                     | nobody                                     | nobody                  |
/// | CANCEL                         | the end of the call                        | the end of the call     |
///
/// Silent: the phone is asked to register, and its user hears nothing of it. Without a PURR a request within a dialog wakes
/// nobody (RFC 8599, 6.2.3); so does what only reports, what is in no hurry, and an INVITE that replaces a call, unless it
/// comes to the address of that call with its PURR (RFC 8599, 7).
public struct RequestPolicy: Sendable {
    /// Seconds for which a request that is not an INVITE is held at most: its sender gives up after 32, and has to have its
    /// answer before (RFC 4320, 4.2; RFC 8599, 5.6.2).
    public static let longestHold: Int64 = 20
    /// The event package of mailboxes (RFC 3842).
    static let mailboxPackage = "message-summary"

    private let methods: WakingMethods
    private let wakeTimeout: Int64

    /// Takes what the operator set.
    public init(_ settings: Settings) {
        methods = WakingMethods(settings)
        wakeTimeout = settings.integer(.wakeTimeout)
    }

    /// Whether a request of this method can wake anybody: says no where no header has to be read. `carriesPURR`: its
    /// Request-URI or a Route has `pn-purr`.
    public func mayWake(_ method: String, isInDialog: Bool, carriesPURR: Bool) -> Bool {
        if Self.neverWakes(method) { return false }
        return isInDialog ? carriesPURR : methods.contains(method)
    }

    /// Decides. `hasPURR`: the request carries a PURR, and a device has it; one that is altered, guessed or too old is
    /// none. `wanted`: seconds after which the host gives it up anyway; 0: it does not say.
    public func decision(on request: IncomingRequest, hasPURR: Bool = false, wanted: Int64 = 0) -> RequestDecision {
        if request.isInDialog && !hasPURR {
            return .nobody("the request is inside a dialog and carries no pn-purr")
        }
        if request.isNonUrgent { return .nobody("the request is non-urgent") }
        if request.isForChatService { return .nobody("the request is for the chat service, not for its user") }
        if request.method == "CANCEL" { return .ends(request.end ?? .cancelled) }
        if Self.neverWakes(request.method) { return .nobody("\(request.method) wakes no phone") }
        if let reason = reasonToWakeNobody(for: request, hasPURR: hasPURR) { return .nobody(reason) }
        if !request.isInDialog, !methods.contains(request.method) {
            return .nobody(
                WakingMethods.known.contains(request.method)
                    ? "\(request.method) wakes no phone: wake_requests does not name it"
                    : "\(request.method) wakes no phone")
        }
        let (event, occasion) = Self.event(of: request)
        let most = holdSeconds(request.method)
        return .wakes(event, occasion, holdSeconds: wanted > 0 ? min(wanted, most) : most)
    }

    /// Seconds for which a request of this method may be held.
    public func holdSeconds(_ method: String) -> Int64 {
        method == "INVITE" ? wakeTimeout : min(wakeTimeout, Self.longestHold)
    }

    private static func neverWakes(_ method: String) -> Bool {
        method == "ACK" || method == "PRACK"
    }

    /// Why a request says nothing that a user or phone waits for; nil when it does.
    private func reasonToWakeNobody(for request: IncomingRequest, hasPURR: Bool) -> String? {
        switch request.method {
        case "INVITE" where request.replacesCall && !hasPURR:
            return "the INVITE replaces a call that is answered already"
        case "MESSAGE":
            if case .notice(let reason) = MessageBody(contentType: request.contentType) { return reason }
            return nil
        case "NOTIFY" where request.eventPackage != Self.mailboxPackage:
            return request.isInDialog ? nil : "a NOTIFY wakes a phone only for message-summary"
        case "NOTIFY" where request.saysNoMessageWaits && !request.isInDialog:
            return "the NOTIFY says that no message waits"
        default: return nil
        }
    }

    private static func event(of request: IncomingRequest) -> (PushEvent, PushOccasion) {
        switch request.method {
        case "INVITE": return (MessageBody.isInvitationToGroup(request.contentType) ? .groupChat : .call, .usual)
        case "MESSAGE": return (.chat, .usual)
        case "NOTIFY" where request.eventPackage == mailboxPackage && !request.saysNoMessageWaits:
            return (.voicemail, .usual)
        case "REFER" where !request.isInDialog: return (.refer, .usual)
        default: return (.refresh, .requestWaiting)
        }
    }
}

/// What a request does to phones that sleep.
public enum RequestDecision: Equatable, Sendable {
    /// They are pushed with this event, and the request is held for at most so many seconds.
    case wakes(PushEvent, PushOccasion = .usual, holdSeconds: Int64)
    /// Those that were pushed for the call and have not come hear how it ended.
    case ends(CallEnd)
    /// Nothing, and why: the request goes to whoever is awake.
    case nobody(String)
}

/// The methods whose requests wake phones outside of a dialog (`wake_requests`).
public struct WakingMethods: Equatable, Sendable {
    /// What a setting says wrongly.
    public struct Mistake: Error, Equatable, Sendable {
        /// What to write instead.
        public let remedy: String
    }

    /// What may be written: every method that makes sense to a phone outside of a dialog.
    public static let known = ["INVITE", "MESSAGE", "REFER", "NOTIFY", "OPTIONS", "SUBSCRIBE", "PUBLISH", "INFO"]

    private let names: Set<String>

    /// Reads `INVITE, MESSAGE`, in any case; an empty text names none.
    public init(setting: String) throws(Mistake) {
        var names: Set<String> = []
        for word in setting.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }) {
            let name = word.uppercased()
            guard Self.known.contains(name) else {
                throw Mistake(remedy: "write some of \(Self.known.joined(separator: ", "))")
            }
            names.insert(name)
        }
        self.names = names
    }

    /// Those that are set; a value that `Settings` has let through names no other.
    public init(_ settings: Settings) { self = (try? Self(setting: settings.text(.wakeRequests))) ?? Self(names: []) }

    private init(names: Set<String>) { self.names = names }

    /// Whether a method is named; SIP's methods are case-sensitive (RFC 3261, 7.1).
    public func contains(_ method: String) -> Bool { names.contains(method) }
}
