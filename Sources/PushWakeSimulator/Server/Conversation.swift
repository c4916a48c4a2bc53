// SPDX-License-Identifier: MIT

/// An HTTP version as the connection sees it: bytes in, bytes out.
protocol Conversation: AnyObject {
    /// Takes received bytes; false when the peer broke the protocol beyond repair.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool
    /// Fills the buffer with bytes to send and returns how many.
    func gather(into buffer: UnsafeMutableRawBufferPointer) -> Int
    /// Nothing more will be read or sent.
    var isFinished: Bool { get }
    /// Does what a script wants done to the connection, after the answers before it have left.
    func perform(_ effect: FaultRule.Effect)
}

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
