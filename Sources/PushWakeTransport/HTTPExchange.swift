// SPDX-License-Identifier: MIT

public import PushWakeCore

/// How a request ended.
public enum HTTPResult: Equatable, Sendable {
    /// `connection` names the one it came on, for `retireConnection`.
    case answered(HTTPResponse, connection: Int)
    /// It was sent and no answer came: the server may have processed it, so that only the caller can say
    /// whether a second one does harm.
    case lost(String)
    /// Nothing of it reached a server: no connection could be made, and the text says why.
    case unreachable(String)
    /// Its deadline passed before it was sent.
    case expired
    /// It had not been sent when `recallWaiting` asked for it.
    case recalled
}

/// One request on its way through a pool, and what has come of it so far.
final class HTTPExchange {
    /// Where a finished stream leaves its request.
    enum End: Equatable {
        case answered
        /// The server has not processed it: safe to send again.
        case notProcessed
        /// It may have been processed; why there is no answer.
        case broken(String)
    }

    private(set) var request: HTTPRequest
    /// Milliseconds, monotonic.
    private(set) var deadline: Int64
    private(set) var completion: (HTTPResult) -> Void
    var response = HTTPResponse(status: 0)
    var end: End?
    /// The server said that it has not processed it, this many times.
    var refusals: UInt8 = 0
    /// Milliseconds, monotonic; when it was handed to a connection.
    var submittedAt: Int64 = 0

    /// What a session keeps here rather than in a table of its own.
    var streamID: Int32 = -1
    var bodyOffset = 0
    var headerBytes = 0
    /// Where in the connection's output its first byte lies; `.max` while it is not serialised.
    var position = UInt64.max
    /// Place in the session's list of open exchanges.
    var index = -1
    var isAnswerComplete = false
    /// Nothing can come of a request whose end has not left: no provider acts on half a body.
    var isBodyUnsent: Bool { bodyOffset < request.body.count }
    /// Why this side gave it up.
    var cancelReason: String?

    init(request: HTTPRequest, deadline: Int64, completion: @escaping (HTTPResult) -> Void) {
        self.request = request
        self.deadline = deadline
        self.completion = completion
    }

    /// Makes this the next request's exchange: with many in flight, allocation costs more than the work.
    func reuse(request: HTTPRequest, deadline: Int64, completion: @escaping (HTTPResult) -> Void) {
        self.request = request
        self.deadline = deadline
        self.completion = completion
        refusals = 0
    }

    /// Gives up what belongs to the request, and returns what remains to be called.
    func retire() -> (HTTPResult) -> Void {
        let completion = completion
        request = Self.noRequest
        response = HTTPResponse(status: 0)
        self.completion = { _ in }
        return completion
    }

    private static let noRequest = HTTPRequest(reservingBytes: 0, fields: 0)

    /// As it was before it was given to a session.
    func reset() {
        response = HTTPResponse(status: 0)
        end = nil
        streamID = -1
        bodyOffset = 0
        headerBytes = 0
        position = .max
        index = -1
        isAnswerComplete = false
        cancelReason = nil
    }
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
