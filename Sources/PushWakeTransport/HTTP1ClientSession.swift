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

    func submit(_ exchange: HTTPExchange, now: Int64) -> Bool {
        guard open.isEmpty, !isExhausted else { return false }
        exchange.reset()
        exchange.submittedAt = now
        exchange.index = 0
        open.append(exchange)
        parser.expectsNoBody = exchange.request[":method"] == "HEAD"
        pending = Self.serialize(exchange.request)
        sentFrom = 0
        return true
    }

    /// The request as HTTP/1.1 has it. Control characters become blanks, so that no value can begin a line.
    static func serialize(_ request: HTTPRequest) -> [UInt8] {
        let method = request[":method"] ?? "GET"
        var bytes: [UInt8] = []
        func append(line text: String) {
            bytes.append(contentsOf: text.utf8.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 })
            bytes.append(contentsOf: [0x0D, 0x0A])
        }
        append(line: "\(method) \(request[":path"] ?? "/") HTTP/1.1")
        append(line: "host: \(request[":authority"] ?? "")")
        for field in request.fields {
            let name = request.name(of: field)
            if name.hasPrefix(":") || name == "host" || name == "content-length" { continue }
            append(line: "\(name): \(request.value(of: field))")
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
        if let kept = limits.keptHeaders { exchange.response.headers.removeAll { !kept.contains($0.name) } }
        exchange.response.body = message.body
        exchange.end = .answered
        if message["connection"]?.lowercased() == "close" || message.startLine.hasPrefix("HTTP/1.0") || !pending.isEmpty
        {
            isExhausted = true
        }
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
