// SPDX-License-Identifier: MIT

/// What a host, or delivery, has to do for a held request.
///
/// A **leg** is the request as it went to one contact: a branch in Kamailio, a channel in Asterisk. Legs have numbers
/// from 1; devices have places from 0.
public enum CallVerb: Equatable, Sendable {
    /// Send the request to this contact. The leg that it replaces is closed and counts no more.
    case ring(leg: Int, contact: String, replacing: Int?)
    /// End this leg: no answer of it is waited for.
    case close(leg: Int)
    /// Send the same datagram once more: the phone is there again, and nothing says that it got the first one.
    case resend(leg: Int)
    /// Keep the request open until then (monotonic milliseconds), although every leg may end. A 2xx needs no `giveUp`.
    case hold(until: Int64)
    /// Nobody is waited for any more. With legs out their answers decide; with none the best answer is sent, or
    /// this status when there is none.
    case giveUp(status: Int)
    /// Send the caller this provisional answer: a push is on its way.
    case tell(status: Int)
    /// The request is over for this phone, which shows a call all the same: send INVITE and CANCEL with this Reason.
    case ringAndCancel(contact: String, reason: String)
    /// Push this event to a device.
    case push(device: Int, event: PushEvent, deadline: Int64)
    /// Drop the push for the call, if it has not left. Its outcome is reported all the same: not accepted if it is gone.
    case dropPush(device: Int)
    /// A line of the request's trace.
    case note(CallNote)
}

extension [CallVerb] {
    /// None yet: what an event brings, as a rule, has room without another piece of memory.
    static func withRoom(_ count: Int) -> [CallVerb] {
        var verbs: [CallVerb] = []
        verbs.reserveCapacity(count)
        return verbs
    }
}

/// What happened to a held request, in the order of its trace. Most are the machine's; hosts and delivery add theirs.
public enum CallNote: Equatable, Sendable {
    /// The device takes the request at once, and why.
    case awake(device: Int, CallContact.Reach)
    /// The device sleeps and is pushed.
    case asleep(device: Int)
    /// The device cannot be pushed, and its contact is all there is.
    case plain(device: Int)
    /// It wants to be left to the request itself for so many milliseconds before it is pushed (`pn-timeout`).
    case delayed(device: Int, Int64)
    /// It was pushed a moment ago, which may wake it for this request too, or too many pushes went; the next one may go in
    /// so many milliseconds.
    case putOff(device: Int, Int64, LimitKey.Setting)
    /// None of its tokens takes a push for this event.
    case notPushed(device: Int, Plan.Reason)
    /// It was rung and has said nothing for so many milliseconds.
    case silent(device: Int, Int64)
    case pushed(device: Int, PushEvent)
    /// The caller was sent a provisional answer.
    case told(status: Int)
    /// No push wakes it, so its known contact is rung.
    case pushFailed(device: Int, hasContact: Bool)
    /// Its push could not go at the first try: until it does, the known contact is rung.
    case pushRetried(device: Int)
    /// Its push is dropped if it has not left.
    case dropped(device: Int)
    case registered(device: Int)
    /// Another node has announced that a phone registered there; who it is follows.
    case announced(node: String)
    /// Its binding is gone: it has un-REGISTERed, or somebody has removed it.
    case unregistered(device: Int)
    case rung(device: Int, leg: Int, contact: String)
    case resent(device: Int, leg: Int)
    case progressed(device: Int, leg: Int, status: Int)
    /// The leg failed without a word from the phone.
    case legFailed(device: Int, leg: Int, status: Int)
    /// The request stays open for so many milliseconds, although every leg may end.
    case held(Int64)
    /// The same request has come once more: a retransmission, another branch or another proxy.
    case copied
    /// Another engine began it, and this one goes on.
    case resumed
    /// Its bindings are known only now, so many milliseconds after it came.
    case bindingsLate(Int64)
    /// It came after the end.
    case late(device: Int)
    /// It shows a call that is over, and gets INVITE and CANCEL.
    case endShown(device: Int)
    /// Nobody is waited for any more.
    case gaveUp(status: Int)
    /// The channel that waited has a phone and goes on: nobody will say what becomes of the call.
    case wentOn
    /// The host has sent the request elsewhere; phones may still join for so many milliseconds.
    case continued(Int64)
    case ended(CallEnd)
}
