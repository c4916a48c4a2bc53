// SPDX-License-Identifier: MIT

/// What the simulator does about one request.
struct Reaction: Equatable {
    /// nil: the request gets no answer.
    var answer: ProviderAnswer?
    /// Milliseconds until the answer leaves.
    var delay: Int64 = 0
    var effects: [FaultRule.Effect] = []
    /// Counted as accepted although no answer is sent.
    var silentPush: PushIdentity?
    var provider: ProviderName?

    /// Status and reason for the log; 0 where nothing is answered.
    var outcome: (status: Int, reason: String) {
        if let answer { return (answer.status, answer.reason) }
        for effect in effects {
            if case .reset(let code) = effect { return (0, code == 7 ? "REFUSED_STREAM" : "RST_STREAM \(code)") }
        }
        return (0, "no answer")
    }
}
