// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// The client's end of an HTTP/1.1 connection, without I/O: one request at a time, kept alive between them.
final class HTTP1ClientSession {
    private let limits: HTTPAnswerLimits
    private var parser: HTTP1Parser
    private var pending: [UInt8] = []
    private var sentFrom = 0
    private var ended: [HTTPExchange] = []

    /// The request that is under way, if any.
    private(set) var open: [HTTPExchange] = []
    /// The server will close, or has broken the protocol.
    private(set) var isExhausted = false

    init(limits: HTTPAnswerLimits) {
        self.limits = limits
        parser = HTTP1Parser(isClient: true, bodyLimit: limits.bodyBytes, headLimit: 32_768)
    }

    var freeStreams: Int { isExhausted ? 0 : 1 - open.count }

    /// Whether all of the request has been gathered and its answer has come.
    var isOver: Bool { isExhausted && open.isEmpty }

    /// Begins a request and returns its bytes; 0 when none can be begun now, and then nothing has happened.
    func submit(_ exchange: HTTPExchange, now: Int64) throws(PushFailure) -> Int {
        guard open.isEmpty, !isExhausted else { return 0 }
        var request = HTTPRequest()
        try exchange.write(into: &request)
        exchange.reset()
        exchange.submittedAt = now
        exchange.index = 0
        open.append(exchange)
        parser.expectsNoBody = request[":method"] == "HEAD"
        pending = Self.serialize(request)
        sentFrom = 0
        return pending.count
    }

    /// The request as HTTP/1.1 has it. Control characters become blanks, so that no value can begin a line.
    static func serialize(_ request: HTTPRequest) -> [UInt8] {
        let fields = request.headerList
        let method = fields.first { $0.name == ":method" }?.value ?? "GET"
        var bytes: [UInt8] = []
        func append(line text: String) {
            bytes.append(contentsOf: text.utf8.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 })
            bytes.append(contentsOf: [0x0D, 0x0A])
        }
        append(line: "\(method) \(fields.first { $0.name == ":path" }?.value ?? "/") HTTP/1.1")
        append(line: "host: \(fields.first { $0.name == ":authority" }?.value ?? "")")
        for field in fields where !field.name.hasPrefix(":") && field.name != "host" && field.name != "content-length" {
            append(line: "\(field.name): \(field.value)")
        }
        if !request.body.isEmpty || method != "GET" { append(line: "content-length: \(request.body.count)") }
        append(line: "")
        return bytes + request.body
    }

    /// Fills the buffer with the next part of the request.
    func gather(into buffer: UnsafeMutableRawBufferPointer, position: UInt64) -> Int? {
        let piece = pending.dropFirst(sentFrom).prefix(buffer.count)
        guard !piece.isEmpty else { return 0 }
        if sentFrom == 0 { open.first?.position = position }
        buffer.copyBytes(from: piece)
        sentFrom += piece.count
        if sentFrom == pending.count { (pending, sentFrom) = ([], 0) }
        return piece.count
    }

    /// Takes bytes from the peer; false when it broke the protocol.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        parser.append(bytes)
        do throws(HTTP1Parser.Failure) {
            while let message = try parser.next() {
                guard let exchange = open.first else { return false }
                answer(exchange, message)
            }
            return true
        } catch {
            return false
        }
    }

    /// The peer has closed: a body that ends with the connection is complete now.
    func receivedEnd() {
        isExhausted = true
        if let message = parser.end(), let exchange = open.first { answer(exchange, message) }
    }

    private func answer(_ exchange: HTTPExchange, _ message: HTTP1Parser.Message) {
        exchange.response.status = Int(message.startLine.dropFirst(9).prefix(3)) ?? 0
        exchange.response.headers = message.headers
        if let kept = limits.keptHeaders {
            exchange.response.headers.removeAll { !kept.contains($0.name) && $0.name != "date" }
        }
        exchange.response.body = message.body
        exchange.end = .answered
        if message.closes || message.startLine.hasPrefix("HTTP/1.0") || !pending.isEmpty { isExhausted = true }
        open.removeAll()
        ended.append(exchange)
    }

    func takeEnded() -> [HTTPExchange] {
        defer { ended = [] }
        return ended
    }

    /// The connection is gone: ends the request under way. `sent` is how much of the output the kernel took.
    func connectionLost(_ reason: String, sent: UInt64) {
        isExhausted = true
        for exchange in open {
            exchange.end = exchange.position >= sent ? .notProcessed : .broken(reason)
            ended.append(exchange)
        }
        open.removeAll()
    }
}
