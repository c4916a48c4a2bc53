// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore

/// The pushes of one request and of its forks: each token gets one.
final class RequestPushes {
    /// By token: few, so that a list is searched sooner than a table is made.
    private var pushes: [RequestPush] = []
    /// Tokens that were pushed, or wait for their turn.
    var count: Int { pushes.count }
    /// Who pushes: the same request may have come to another node before.
    enum Turn {
        case own
        /// Another node has it and has not yet said whether it pushes.
        case claimedElsewhere
        case ofAnother
    }
    var turn = Turn.own
    /// Requests that share it and have not ended.
    var live = 0
    /// A dialplan had begun them before it dialled: the first leg goes on with those that nobody else follows.
    var areOfDialplan = false

    /// The push to a token, begun here where it is the first.
    func push(to token: String) -> RequestPush {
        if let known = known(token) { return known }
        let new = RequestPush(to: token)
        pushes.append(new)
        return new
    }

    /// The push to a token; nil where there was none.
    func known(_ token: String) -> RequestPush? {
        for index in pushes.indices where pushes[index].token == token { return pushes[index] }
        return nil
    }

    /// The leg that comes follows them in place of this request.
    func handOver(from request: HeldRequest) {
        areOfDialplan = true
        for push in pushes { push.followers.removeAll { $0.request === request } }
    }

    /// Milliseconds for which a push, and a phone that it woke, count for whatever else comes with the same Call-ID.
    fileprivate static let sameCallWindow: Int64 = 1000

    /// Forgets the push to a token before `request` asks for one, when a script tries the same user again in one call: the
    /// phone came and is gone again, has declined, or those it was pushed for were given up on. Forks of the request
    /// share the push that was sent.
    func renew(_ token: String, for request: HeldRequest, now: Int64) {
        // It asks once more for the phones alone that were sent the text and did not answer.
        guard !request.message.isLeftToPushes else { return }
        // Its channel hears at once of a phone that came since.
        guard request.rung.isEmpty else { return }
        guard let push = known(token), case .ended(_, let endedAt) = push.state,
            push.wokenAt != nil || !areOfDialplan || !push.followers.isEmpty,
            push.followers.allSatisfy({ $0.request !== request && push.isFinished($0.request, $0.device, now) }),
            now - endedAt >= Self.sameCallWindow || push.isDeclined
        else { return }
        pushes.removeAll { $0.token == token }
    }

    /// The request can no longer be found: it goes once its pushes have ended and its trace has heard of that.
    func forget(_ request: HeldRequest) {
        request.isForgotten = true
        for push in pushes where push.isAccepted != nil { push.dropForgotten() }
    }
}

/// What becomes of one token for a request and its forks: one push serves them all.
final class RequestPush {
    enum State {
        /// It is not on its way: another node may push, or the engine ends.
        case unsent
        /// It waits until `ignore_same` and the limits allow it.
        case waiting
        case sent(PushJob)
        /// `at`: monotonic milliseconds.
        case ended(isAccepted: Bool, at: Int64)
    }

    let token: String
    var state = State.unsent
    /// How the last one ended, for forks that come later.
    var result: PushResult?
    /// The records of the token have the acceptance.
    var isCounted = false
    /// Monotonic milliseconds at which its phone came.
    var wokenAt: Int64?
    /// Who wants to hear of its outcome.
    var followers: [(request: HeldRequest, device: Int)] = []

    init(to token: String) { self.token = token }

    /// Nil until it has ended.
    var isAccepted: Bool? {
        guard case .ended(let isAccepted, _) = state else { return nil }
        return isAccepted
    }

    /// On its way to a provider.
    var job: PushJob? {
        guard case .sent(let job) = state else { return nil }
        return job
    }

    /// Another push for the same call would not meet this one's phone on its way.
    fileprivate func isFinished(_ request: HeldRequest, _ device: Int, _ now: Int64) -> Bool {
        if request.isSuperseded || request.machine.isGivenUp || request.machine.hasDeclined(device) { return true }
        guard let wokenAt else { return false }
        return now - wokenAt >= RequestPushes.sameCallWindow
    }

    /// Its phone has come and said no: a request that asks again is not a fork of the same one.
    fileprivate var isDeclined: Bool {
        !followers.isEmpty && followers.allSatisfy { $0.request.machine.hasDeclined($0.device) }
    }

    /// They and their pushes know each other, and would stay for ever.
    func dropForgotten() { followers.removeAll { $0.request.isForgotten } }
}
