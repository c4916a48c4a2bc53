// SPDX-License-Identifier: MIT

public import PushWakeCore

/// One request on its way through a pool, and what has come of it so far.
///
/// Whoever sends many requests derives from it, so that all that is known of one is one object. The request is
/// written when a stream takes it and not before: what waits for a stream holds no text, and what leaves carries
/// the credential of that moment.
open class HTTPExchange {
    /// Where a finished stream leaves its request.
    enum End: Equatable {
        case answered
        /// The server has not processed it: safe to send again.
        case notProcessed
        /// It may have been processed; why there is no answer.
        case broken(String)
    }

    /// Milliseconds, monotonic: after it the request is not sent any more.
    public final let deadline: Int64
    final var response = HTTPResponse(status: 0)
    final var end: End?
    /// The server said that it has not processed it, this many times.
    final var refusedStreams: UInt8 = 0
    /// Milliseconds, monotonic; when it was handed to a connection.
    final var submittedAt: Int64 = 0
    /// Milliseconds, monotonic; an answer after it is of no use.
    final var answerBy: Int64 = 0

    /// What a session keeps here rather than in a table of its own.
    final var streamID: Int32 = -1
    /// The header block that its request refers to, as long as the request may not have been serialised.
    final var headerBlock: RepeatedHeaderBlock?
    /// What of the request has not been given to the connection yet; the header fields have.
    final var body: [UInt8] = []
    final var bodyOffset = 0
    final var headerBytes = 0
    /// Where in the connection's output its first byte lies; `.max` while it is not serialised.
    final var position = UInt64.max
    /// Place in the session's list of open exchanges.
    final var index = -1
    final var isAnswerComplete = false
    /// Nothing can come of a request whose end has not left: no provider acts on half a body.
    final var isBodyUnsent: Bool { bodyOffset < body.count }
    /// Why this side gave it up, until another connection has it.
    final var cancelReason: String?
    /// It was given up to be sent over another connection.
    final var isTakenBack = false

    /// An exchange that no pool has yet.
    public init(deadline: Int64) { self.deadline = deadline }

    /// Writes the request into an empty one, which may have room from the last. Called for each stream that takes
    /// it. Throws when it is not to be sent after all; then it ends as `.refused`.
    open func write(into request: inout HTTPRequest) throws(PushFailure) {}

    /// Whether a second copy does no harm, when nobody knows what became of the first.
    open var isRepeatable: Bool { false }

    /// The end, called once per `send`.
    open func ended(_ result: HTTPResult) {}

    /// As it was before it was given to a session.
    final func reset() {
        // What has a reference is left alone where there is none: most requests are sent once.
        if response.status != 0 { response = HTTPResponse(status: 0) }
        if end != nil { end = nil }
        streamID = -1
        bodyOffset = 0
        headerBytes = 0
        position = .max
        index = -1
        isAnswerComplete = false
        if cancelReason != nil { cancelReason = nil }
        isTakenBack = false
    }

    /// Gives its answer away.
    final func takeResponse() -> HTTPResponse {
        var taken = HTTPResponse(status: 0)
        swap(&taken, &response)
        return taken
    }
}

/// How a request ended.
public enum HTTPResult: Equatable, Sendable {
    /// `connection` names the one it came on, for `retireConnection`.
    case answered(HTTPResponse, connection: Int)
    /// It was sent and no answer came: the server may have processed it, so that only the caller can say
    /// whether a second one does harm.
    case lost(String)
    /// The same, of a server that is there and does not answer in time.
    case unanswered(String)
    /// Nothing of it reached a server: no connection could be made, and the text says why.
    case unreachable(String)
    /// The server does not admit this client: it refused the certificate. Nothing was processed, and another attempt
    /// would end the same way.
    case notAdmitted(String)
    /// Its deadline passed before it was sent.
    case expired
    /// It was not sent: it would not be written.
    case refused(PushFailure)
}

/// A request that is ready, and a closure for its end: for those who send few.
final class ReadyExchange: HTTPExchange {
    private let request: HTTPRequest
    private let completion: (HTTPResult) -> Void

    init(_ request: HTTPRequest, deadline: Int64, completion: @escaping (HTTPResult) -> Void) {
        self.request = request
        self.completion = completion
        super.init(deadline: deadline)
    }

    override func write(into request: inout HTTPRequest) { request = self.request }

    override func ended(_ result: HTTPResult) { completion(result) }
}

/// Bounds on what a server may send.
public struct HTTPAnswerLimits: Sendable {
    /// Bytes of body that are kept; the rest is read and dropped.
    public var bodyBytes = 16_384
    /// Bytes of header names and values that are kept.
    public var headerBytes = 8_192
    /// Lower-case names of the headers to keep; nil keeps all.
    public var keptHeaders: [String]?

    /// Sets some limits and leaves the others as they are.
    public init(bodyBytes: Int = 16_384, headerBytes: Int = 8_192, keptHeaders: [String]? = nil) {
        self.bodyBytes = bodyBytes
        self.headerBytes = headerBytes
        self.keptHeaders = keptHeaders
    }
}
