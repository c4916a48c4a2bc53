// SPDX-License-Identifier: MIT

public import PushWakeCore
public import PushWakeSystem

/// Where the answer to one request goes: given once, now or later, from the loop's thread.
public final class AnswerSlot {
    private weak var session: (any ListenerSession)?
    private let stream: Int32
    /// Who sent the request.
    public let peer: SocketAddress
    /// It came over TLS.
    public let isEncrypted: Bool
    private var isUsed = false

    init(_ session: any ListenerSession, stream: Int32, peer: SocketAddress, isEncrypted: Bool) {
        self.session = session
        self.stream = stream
        self.peer = peer
        self.isEncrypted = isEncrypted
    }

    /// Whether the client has gone, so that nobody reads an answer.
    public var isGone: Bool { session?.waits(for: stream) != true }

    /// Answers; a second answer, and one that comes too late, goes nowhere.
    public func answer(_ answer: ServedAnswer) {
        guard !isUsed else { return }
        isUsed = true
        session?.answer(answer, stream: stream)
    }

    /// Answers with a body that goes on; nil where nobody reads one: the client has gone, or asked for the head alone.
    public func open(_ answer: ServedAnswer) -> AnswerStream? {
        guard !isUsed, let session else { return nil }
        isUsed = true
        return session.open(answer, stream: stream) ? AnswerStream(session, stream: stream) : nil
    }
}

/// The body of an answer that goes on, piece by piece, until either end has enough.
public final class AnswerStream {
    /// What became of the pieces so far.
    public enum State: Equatable, Sendable {
        /// All of them have left for the client.
        case taken
        /// The client has not taken all; whoever sends nothing more now keeps no more for it. The listener closes clients
        /// that read too slowly.
        case unread
        /// Nobody reads any more.
        case gone
    }

    private weak var session: (any ListenerSession)?
    private let stream: Int32

    init(_ session: any ListenerSession, stream: Int32) {
        self.session = session
        self.stream = stream
    }

    public var state: State { session?.state(of: stream) ?? .gone }

    /// Sends a piece.
    public func send(_ piece: [UInt8]) { session?.append(piece, stream: stream) }

    /// Ends the body.
    public func end() { session?.endStream(stream) }
}

/// One HTTP version on a connection: bytes in, bytes out.
protocol ListenerSession: AnyObject {
    /// Takes received bytes; false when nothing more may come. What is still to be sent tells why.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool
    /// Goes on with what it has received and not worked on.
    func resume()
    /// Fills the buffer with bytes to send and returns how many; nil when the session is broken.
    func gather(into buffer: UnsafeMutableRawBufferPointer) -> Int?
    /// Takes an answer; a stream that has gone loses it.
    func answer(_ answer: ServedAnswer, stream: Int32)
    /// Begins an answer whose body goes on; false when none does, since the stream has gone or shall have no body.
    func open(_ answer: ServedAnswer, stream: Int32) -> Bool
    /// Takes a piece of such a body.
    func append(_ piece: [UInt8], stream: Int32)
    /// Ends such a body.
    func endStream(_ stream: Int32)
    /// What the client has taken of such a body.
    func state(of stream: Int32) -> AnswerStream.State
    /// There is such a body.
    var isStreaming: Bool { get }
    /// Whether a request is there and has no answer yet.
    func waits(for stream: Int32) -> Bool
    /// False while what has come is enough to do.
    var wantsInput: Bool { get }
    /// There are requests left to begin with, in another turn of the loop.
    var hasBacklog: Bool { get }
    /// Nothing more will be read or sent.
    var isFinished: Bool { get }
    /// Answers have not left as a whole.
    var hasUnsent: Bool { get }
    /// Monotonic milliseconds at which the oldest request began that is not whole; nil when there is none.
    var readingSince: Int64? { get }
    /// The same of the oldest request that waits for its answer.
    var answeringSince: Int64? { get }
}

/// What a session needs of its connection.
protocol ListenerSessionOwner: AnyObject {
    /// Hands out a request.
    func serve(_ request: ServedRequest, stream: Int32)
    /// There is something to send.
    func hasOutput()
    var now: Int64 { get }
    /// Seconds since 1970.
    var wallSeconds: Int64 { get }
}
