// SPDX-License-Identifier: MIT

/// The one who judges requests for a conversation.
protocol RequestJudge: AnyObject {
    /// Judges and logs a whole request.
    func judge(_ request: ReceivedRequest, stream: Int32) -> Reaction
    /// Counts an answer that leaves now.
    func answerLeaves(_ reaction: Reaction)
    /// Runs an action later, if the connection still stands.
    func later(_ milliseconds: Int64, _ action: @escaping () -> Void)
    /// Keeps an effect on the connection until the answers before it have left.
    func postpone(_ effect: FaultRule.Effect)
    /// The first request of the connection was for FCM.
    var isFCM: Bool { get }
    /// Changes the counters.
    func count(_ change: (inout SimulatorCounters) -> Void)
}
