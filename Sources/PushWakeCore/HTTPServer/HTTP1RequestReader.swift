// SPDX-License-Identifier: MIT

/// Reads the requests of one HTTP/1.1 connection, piece by piece (RFC 9112).
///
/// It is strict where two readers could see different requests in the same bytes: line ends are CRLF, a body has one
/// length, a field name has no blank behind it, lines are not folded. After a refusal it reads nothing more.
public struct HTTP1RequestReader: ~Copyable {
    /// How much a request may have.
    public struct Limits: Equatable, Sendable {
        /// Bytes of request line and fields together.
        public var head = 16_384
        /// Fields.
        public var fields = 100
        /// Bytes of the body.
        public var body = 32_768

        /// The limits that are shipped.
        public init() {}
    }

    /// What came of the bytes so far.
    public enum Step: Equatable, Sendable {
        /// More is needed.
        case incomplete
        /// The client waits for 100 Continue before it sends the body (RFC 9110, 10.1.1).
        case continueWanted
        /// A whole request; when it does not keep the connection open, no other follows.
        case request(ServedRequest, keepsOpen: Bool)
        /// Answer with this status and close.
        case refused(HTTPRequestError)
    }

    private struct Head {
        var method = ""
        var target = ""
        var isHTTP10 = false
        var headers: [HTTPResponse.Header] = []
    }

    private enum State {
        case head
        case body(left: Int)
        case chunkSize
        case chunkData(left: Int)
        case chunkEnd
        case trailer
        case over
    }

    private let limits: Limits
    private var buffer: [UInt8] = []
    private var consumed = 0
    /// Where the search for the end of the head goes on.
    private var searched = 0
    private var state = State.head
    private var head = Head()
    private var body: [UInt8] = []
    private var trailerBytes = 0
    private var owesContinue = false

    /// Nothing has come.
    public init(limits: Limits = Limits()) { self.limits = limits }

    /// Bytes that have come and belong to no request that was given out.
    public var buffered: Int { buffer.count - consumed + body.count }

    /// Whether no part of a request has come.
    public var isBetweenRequests: Bool {
        if case .head = state { return buffered == 0 }
        return false
    }

    /// Takes bytes from the connection.
    public mutating func append(_ bytes: Span<UInt8>) {
        if case .over = state { return }
        if consumed > 0 {
            buffer.removeFirst(consumed)
            searched = max(0, searched - consumed)
            consumed = 0
        }
        bytes.append(to: &buffer)
    }

    /// Goes on with what has come.
    public mutating func next() -> Step {
        do throws(HTTPRequestError) {
            return try advance()
        } catch {
            state = .over
            (buffer, consumed, body) = ([], 0, [])
            return .refused(error)
        }
    }

    private mutating func advance() throws(HTTPRequestError) -> Step {
        while true {
            switch state {
            case .over: return .incomplete
            case .head:
                guard let end = try headEnd() else { return .incomplete }
                try readHead(end)
                try chooseBody()
            case .body(let left):
                let taken = take(left)
                if taken == left { return try finish() }
                state = .body(left: left - taken)
                return waiting()
            case .chunkSize:
                guard let line = try takeLine(limit: 256) else { return waiting() }
                let size = try Self.chunkSize(line)
                guard body.count + size <= limits.body else { throw .bodyTooLong(limits.body) }
                state = size == 0 ? .trailer : .chunkData(left: size)
            case .chunkData(let left):
                let taken = take(left)
                guard taken == left else {
                    state = .chunkData(left: left - taken)
                    return .incomplete
                }
                state = .chunkEnd
            case .chunkEnd:
                guard let line = try takeLine(limit: 2) else { return .incomplete }
                guard line.isEmpty else { throw .malformed("a chunk is longer than its size says") }
                state = .chunkSize
            case .trailer:
                guard let line = try takeLine(limit: limits.head) else { return .incomplete }
                trailerBytes += line.count
                guard trailerBytes <= limits.head else { throw .headTooLong(limits.head) }
                if line.isEmpty { return try finish() }
            }
        }
    }

    private mutating func waiting() -> Step {
        guard owesContinue, body.isEmpty, consumed == buffer.count else { return .incomplete }
        owesContinue = false
        return .continueWanted
    }

    private mutating func finish() throws(HTTPRequestError) -> Step {
        guard let request = ServedRequest(method: head.method, target: head.target, headers: head.headers, body: body)
        else { throw .malformed("the target is not a path of this server") }
        let keepsOpen = !head.isHTTP10 && !asksToClose
        state = keepsOpen ? .head : .over
        (head, body, trailerBytes, owesContinue) = (Head(), [], 0, false)
        searched = consumed
        return .request(request, keepsOpen: keepsOpen)
    }

    private var asksToClose: Bool {
        head.headers.contains { header in
            header.name == "connection"
                && header.value.lowercased().split(separator: ",").contains { $0.filter { $0 != " " } == "close" }
        }
    }

    // MARK: Head

    /// End of the fields, behind the empty line; nil while it has not come.
    private mutating func headEnd() throws(HTTPRequestError) -> Int? {
        // Empty lines before a request are no fault (RFC 9112, 2.2).
        while buffer.count - consumed >= 2, buffer[consumed] == ASCII.carriageReturn,
            buffer[consumed + 1] == ASCII.lineFeed
        {
            consumed += 2
        }
        var index = max(searched, consumed)
        while index + 3 < buffer.count {
            if buffer[index] == ASCII.carriageReturn, buffer[index + 1] == ASCII.lineFeed,
                buffer[index + 2] == ASCII.carriageReturn, buffer[index + 3] == ASCII.lineFeed
            {
                guard index + 4 - consumed <= limits.head else { throw .headTooLong(limits.head) }
                return index + 4
            }
            index += 1
        }
        searched = index
        guard buffer.count - consumed <= limits.head else { throw .headTooLong(limits.head) }
        return nil
    }

    private mutating func readHead(_ end: Int) throws(HTTPRequestError) {
        head = Head()
        var start = consumed
        var isFirst = true
        while start < end - 2 {
            var stop = start
            while buffer[stop] != ASCII.carriageReturn || buffer[stop + 1] != ASCII.lineFeed {
                let byte = buffer[stop]
                guard byte == ASCII.tab || byte >= 0x20 && byte != 0x7F else {
                    throw .malformed("a control character in the head")
                }
                stop += 1
            }
            let line = buffer[start..<stop]
            if isFirst { try readRequestLine(line) } else { try readField(line) }
            isFirst = false
            start = stop + 2
        }
        consumed = end
        searched = end
        let hosts = head.headers.count { $0.name == "host" }
        guard hosts == 1 || hosts == 0 && head.isHTTP10 else { throw .malformed("one Host field is needed") }
    }

    private mutating func readRequestLine(_ line: ArraySlice<UInt8>) throws(HTTPRequestError) {
        let parts = line.split(separator: ASCII.space, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].count <= 32, !parts[0].isEmpty, parts[0].allSatisfy(ByteClass.token.contains)
        else { throw .malformed("not a request line of HTTP/1.1") }
        let version = String(decoding: parts[2], as: UTF8.self)
        guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
            throw version.hasPrefix("HTTP/") ? .version : .malformed("not a request line of HTTP/1.1")
        }
        head.method = String(decoding: parts[0], as: UTF8.self)
        head.target = String(decoding: parts[1], as: UTF8.self)
        head.isHTTP10 = version == "HTTP/1.0"
    }

    private mutating func readField(_ line: ArraySlice<UInt8>) throws(HTTPRequestError) {
        guard head.headers.count < limits.fields else { throw .tooManyFields(limits.fields) }
        guard let colon = line.firstIndex(of: ASCII.colon), colon > line.startIndex,
            line[..<colon].allSatisfy(ByteClass.token.contains)
        else { throw .malformed("a line is not a header field") }
        var value = line[(colon + 1)...]
        while let first = value.first, ASCII.isBlank(first) { value.removeFirst() }
        while let last = value.last, ASCII.isBlank(last) { value.removeLast() }
        head.headers.append(
            HTTPResponse.Header(
                name: String(decoding: line[..<colon].map(ASCII.lowercased), as: UTF8.self),
                value: String(decoding: value, as: UTF8.self)))
    }

    // MARK: Body

    private mutating func chooseBody() throws(HTTPRequestError) {
        let codings = head.headers.filter { $0.name == "transfer-encoding" }
        let lengths = head.headers.filter { $0.name == "content-length" }
        for expectation in head.headers where expectation.name == "expect" {
            guard expectation.value.lowercased() == "100-continue" else { throw .expectation }
            owesContinue = !head.isHTTP10
        }
        if !codings.isEmpty {
            // Both would let one reader end the request where another one goes on (RFC 9112, 6.3).
            guard lengths.isEmpty, codings.count == 1, codings[0].value.lowercased() == "chunked", !head.isHTTP10 else {
                throw .malformed("the length of the body is not clear")
            }
            state = .chunkSize
            return
        }
        guard let length = lengths.first else {
            state = .body(left: 0)
            return
        }
        guard lengths.count == 1, !length.value.isEmpty, length.value.utf8.allSatisfy(ByteClass.digit.contains) else {
            throw .malformed("the length of the body is not clear")
        }
        guard let count = Int(length.value), count <= limits.body else { throw .bodyTooLong(limits.body) }
        state = .body(left: count)
    }

    private mutating func take(_ count: Int) -> Int {
        let taken = min(count, buffer.count - consumed)
        body.append(contentsOf: buffer[consumed..<(consumed + taken)])
        consumed += taken
        return taken
    }

    private mutating func takeLine(limit: Int) throws(HTTPRequestError) -> ArraySlice<UInt8>? {
        guard let end = buffer[consumed...].firstIndex(of: ASCII.lineFeed) else {
            guard buffer.count - consumed <= limit + 2 else {
                throw .malformed("a line that does not end with CRLF, or is too long")
            }
            return nil
        }
        guard end > consumed, buffer[end - 1] == ASCII.carriageReturn, end - 1 - consumed <= limit else {
            throw .malformed("a line that does not end with CRLF, or is too long")
        }
        defer { consumed = end + 1 }
        return buffer[consumed..<(end - 1)]
    }

    private static func chunkSize(_ line: ArraySlice<UInt8>) throws(HTTPRequestError) -> Int {
        let digits = line.prefix { $0 != ASCII.semicolon && !ASCII.isBlank($0) }
        guard !digits.isEmpty, digits.count <= 8, digits.allSatisfy(ByteClass.hex.contains),
            let size = Int(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw .malformed("a chunk without a size") }
        return size
    }
}

/// Why a request cannot be read, and the status that says so.
public enum HTTPRequestError: Error, Equatable, Sendable {
    case malformed(String)
    /// Bytes that a head may have.
    case headTooLong(Int)
    /// Fields that a head may have.
    case tooManyFields(Int)
    /// Bytes that a body may have.
    case bodyTooLong(Int)
    /// Another version than HTTP/1.0 and HTTP/1.1.
    case version
    /// Something else is expected than 100-continue.
    case expectation

    /// RFC 9110, 15.5; RFC 6585, 5.
    public var status: Int {
        switch self {
        case .malformed: 400
        case .headTooLong, .tooManyFields: 431
        case .bodyTooLong: 413
        case .version: 505
        case .expectation: 417
        }
    }

    /// For whoever wrote the client.
    public var text: String {
        switch self {
        case .malformed(let what): "the request cannot be read: \(what)"
        case .headTooLong(let bytes): "request line and fields have more than \(bytes) bytes"
        case .tooManyFields(let count): "the request has more than \(count) fields"
        case .bodyTooLong(let bytes): "the body has more than \(bytes) bytes"
        case .version: "speak HTTP/1.1 or HTTP/2"
        case .expectation: "only 100-continue can be expected"
        }
    }
}
