// SPDX-License-Identifier: MIT

/// The first step that is missing when a push should wake a phone for a request: what that means, and who has to do what.
///
/// It is the one table from a missing step to its remedy; why a provider refuses a push is told by `Remedy`.
public enum MissingStep: Equatable, Sendable {
    /// Nothing can be pushed: there is no binding. `removed` is the reason of the last one that is gone; empty without one.
    case binding(removed: String)
    /// The PBX has not asked for the user's phones; what it said to the caller.
    case question(caller: String)
    /// The phone was awake, so that no push was needed.
    case sleep
    /// PushWake has not pushed, and why.
    case permission(String)
    /// The push service has not accepted the push.
    case acceptance(Provider, Outcome, reason: String)
    /// The push was accepted, and the phone has not registered.
    case register(Provider)
    /// It had registered after the pushes before this one; so many did wake it.
    case nextWake(Provider, after: Int)
    /// It has registered when the caller had gone, so many milliseconds after the push.
    case lateRegister(Int64)
    /// What registers is another phone to the server: neither token nor instance is that of the pushed one.
    case samePhone
    /// It registers with another token than was pushed, or with none (empty).
    case sameToken(was: String, now: String)
    /// It registers with another instance; empty for none.
    case sameInstance(was: String, now: String)
    /// So many REGISTERs within a second.
    case oneRegister(Int)
    /// It has registered, and the request was not sent to it.
    case request
    /// It has the request, and does not say so with any answer.
    case answer
    /// It said 100, and does not ring.
    case ringing
    /// It refuses the request by itself; true: within a tenth of a second.
    case oneCall(status: Int, isAtOnce: Bool)
    /// It refuses a request that comes so many seconds after its push, or is silent (0).
    case lateRequest(status: Int, seconds: Int64)
    /// The caller has gone, and the phone has not ended the call.
    case cancel

    /// Who can do something about it.
    public enum Actor: String, Sendable {
        case developer = "app's developer"
        case administrator
        case tester
    }

    /// A short word for machines.
    public var name: String {
        switch self {
        case .binding: "binding"
        case .question: "question"
        case .sleep: "sleep"
        case .permission: "permission"
        case .acceptance: "acceptance"
        case .register: "register"
        case .nextWake: "next-wake"
        case .lateRegister: "late-register"
        case .samePhone: "same-phone"
        case .sameToken: "same-token"
        case .sameInstance: "same-instance"
        case .oneRegister: "one-register"
        case .request: "request"
        case .answer: "answer"
        case .ringing: "ringing"
        case .oneCall: "one-call"
        case .lateRequest: "late-request"
        case .cancel: "cancel"
        }
    }

    /// Exit code of a command that reports it: one for each kind. 1 and 2 are what they always are.
    public var exitCode: Int32 {
        switch self {
        case .binding: 10
        case .question: 11
        case .sleep: 12
        case .permission: 13
        case .acceptance: 14
        case .register: 15
        case .nextWake: 16
        case .lateRegister: 17
        case .samePhone, .sameToken: 18
        case .sameInstance: 19
        case .oneRegister: 20
        case .request: 21
        case .answer: 22
        case .ringing: 23
        case .oneCall: 24
        case .lateRequest: 25
        case .cancel: 26
        }
    }

    /// Who has to act.
    public var actor: Actor {
        switch self {
        case .question, .permission, .request: .administrator
        case .acceptance(_, let outcome, _): outcome == .tokenGone ? .developer : .administrator
        case .sleep: .tester
        default: .developer
        }
    }

    /// What is so, as a sentence without its full stop.
    public var meaning: String {
        switch self {
        case .binding(let removed):
            removed.isEmpty
                ? "no REGISTER of this user has brought a token that can be pushed"
                : "the user has no token: the last one was removed (\(PrintableText.cleaned(removed)))"
        case .question(let caller): "the call did not get to PushWake: \(PrintableText.cleaned(caller))"
        case .sleep:
            "the phone was awake, so that nothing had to be pushed: this proves nothing about a phone that sleeps"
        case .permission(let reason): "PushWake has not pushed: \(PrintableText.cleaned(reason))"
        case .acceptance(_, let outcome, let reason):
            "the push service has not accepted the push: \(outcome.name)\(reason.isEmpty ? "" : " \(PrintableText.cleaned(reason))")"
        case .register(let provider):
            "\(provider.name) has accepted the push, which does not say that the phone got it; no REGISTER came"
        case .nextWake(_, let count): "the phone has registered after \(count) pushes, and not after this one"
        case .lateRegister(let milliseconds):
            "the phone has registered \(TraceText.duration(milliseconds)) after the push, when the caller had gone"
        case .samePhone: "a phone has registered with another token and another instance than the pushed one"
        case .sameToken(let was, let now):
            now.isEmpty
                ? "the REGISTER after the push has no token"
                : "the push went to token \(was), and the phone has come back with token \(now)"
        case .sameInstance(let was, let now):
            "the +sip.instance was \(Self.shown(was)), and is now \(Self.shown(now))"
        case .oneRegister(let count): "one push has caused \(count) REGISTERs within a second"
        case .request: "the phone has registered, and the request was not sent to it"
        case .answer: "the request was sent to where the phone has registered, and the phone has not answered it"
        case .ringing: "the phone has the request (100), and does not ring"
        case .oneCall(let status, let isAtOnce):
            "the phone refuses the request by itself (\(status))\(isAtOnce ? ", within a tenth of a second" : "")"
        case .lateRequest(let status, let seconds):
            "\(seconds) s after its push, the phone \(status > 0 ? "refuses the request (\(status))" : "does not ring")"
        case .cancel: "the caller has hung up, and the phone has not ended the call within a second"
        }
    }

    /// What to do about it.
    public var remedy: String {
        switch self {
        case .binding(let removed):
            removed.isEmpty
                ? "send pn-provider, pn-param and pn-prid in the Contact of each REGISTER: pushwake parse FILE with the REGISTER says what is missing"
                : "open the app, so that it registers with a token of today"
        case .question, .permission, .request: administration
        case .sleep: "close the app (swipe it away), lock the phone, wait until its connection is gone, and try again"
        case .acceptance(let provider, let outcome, let reason): Remedy.push(outcome, reason, provider)
        case .register(let provider):
            "see on the phone whether the push arrives (log the first line of the push handler). If not: \(provider.row.phoneRemedy). If so: report to CallKit first, or take an FCM data message; then REGISTER at once over a new connection, and compare DNS, TLS and password"
        case .nextWake:
            "report each PushKit push to CallKit before the delegate returns: iOS delivers no more after about three that were not reported; install the app anew, which lets it start again"
        case .lateRegister:
            "start the SIP stack with the push, and REGISTER before all else; if phones are as slow as this, the administrator raises wake_timeout"
        case .samePhone, .sameToken(_, ""), .sameInstance:
            "send token, app and the same +sip.instance in every REGISTER, also in the first one after a push"
        case .sameToken:
            "the token may change once. If it does each time: ask for it once for each start, and keep the one for calls (PushKit) apart from the one for notifications"
        case .oneRegister:
            "start the SIP stack once for each push, and register once: each REGISTER may bring the call again"
        case .answer:
            "ring at the contact that was registered, over the connection of that REGISTER, and keep the app running until then; behind NAT the administrator lets the server answer to where the REGISTER came from"
        case .ringing: "send 180 as soon as the INVITE is there: the push has shown the call already"
        case .oneCall(let status, _):
            status == 482
                ? "take one copy of the INVITE: the phone has two connections or registrations"
                : "find the pushed call by the Call-ID of the INVITE, then by its X-Push-ID: two calls for one push make the second one busy"
        case .lateRequest:
            "wait for the INVITE at least as long as expires-at in the push says; in Linphone, push_incoming_call_timeout"
        case .cancel: "end the call in CallKit and answer the INVITE with 487 when CANCEL comes"
        }
    }

    private var administration: String {
        switch self {
        case .question:
            "let the PBX take the call: --proxy says where it is, --account who calls; calls to this user have to go through pushwake_lookup() in Kamailio, or to its endpoint in Asterisk"
        case .request:
            "see what the PBX did with the phone: pushwake trace has the call; in Kamailio the transaction must not end before the phone registers, and no route may drop the late branch"
        default: "see which setting holds the push back: pushwake trace names it"
        }
    }

    private static func shown(_ instance: String) -> String {
        instance.isEmpty ? "missing" : PrintableText.cleaned(instance)
    }
}
