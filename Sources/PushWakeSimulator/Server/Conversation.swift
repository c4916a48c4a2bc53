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
