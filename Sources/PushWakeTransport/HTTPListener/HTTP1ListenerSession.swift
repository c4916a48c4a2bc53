// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// The server's end of an HTTP/1.1 connection, without I/O: one request at a time, in the order in which they came.
final class HTTP1ListenerSession: ListenerSession {
    /// Requests of one client that begin in one turn of the loop.
    private static let requestsPerTurn = 8
    /// Unsent bytes from which on no further request begins.
    private static let mostUnsent = 65_536

    /// It outlives its session.
    private unowned let owner: any ListenerSessionOwner
    private var reader: HTTP1RequestReader
    private var output: [UInt8] = []
    private var sent = 0
    private var serial: Int32 = 0
    private var isWaiting = false
    /// The last answer goes on; what the client sends meanwhile is nothing that could be answered.
    private(set) var isStreaming = false
    private var isHead = false
    private var keepsOpen = true
    private var isOver = false
    private var isStepping = false
    private(set) var hasBacklog = false
    private(set) var readingSince: Int64?
    private(set) var answeringSince: Int64?

    init(owner: any ListenerSessionOwner, limits: HTTP1RequestReader.Limits) {
        self.owner = owner
        reader = HTTP1RequestReader(limits: limits)
    }

    var wantsInput: Bool { !isOver && !isWaiting && !hasBacklog }
    var isFinished: Bool { isOver && !isWaiting && !hasUnsent }
    var hasUnsent: Bool { sent < output.count }

    func waits(for stream: Int32) -> Bool { isWaiting && stream == serial }

    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !isOver else { return false }
        guard !isStreaming else { return true }
        reader.append(bytes.bindMemory(to: UInt8.self).span)
        resume()
        return !isOver
    }

    func resume() {
        guard !isStepping else { return }
        isStepping = true
        defer { isStepping = false }
        hasBacklog = false
        for _ in 0..<Self.requestsPerTurn {
            guard !isWaiting, !isOver, !isStreaming else { return }
            guard output.count - sent < Self.mostUnsent else { break }
            switch reader.next() {
            case .incomplete:
                readingSince = reader.isBetweenRequests ? nil : readingSince ?? owner.now
                return
            case .continueWanted: send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
            case .request(let request, let keepsOpen): begin(request, keepsOpen)
            case .refused(let refusal):
                (isOver, readingSince) = (true, nil)
                let answer = ServedAnswer.problem(refusal.status, refusal.text)
                send(answer.head(keepsOpen: false, date: owner.wallSeconds) + answer.body)
                return
            }
        }
        hasBacklog = !isWaiting && !isOver && !isStreaming && reader.buffered > 0
    }

    private func begin(_ request: ServedRequest, _ keepsOpen: Bool) {
        serial &+= 1
        (isWaiting, answeringSince, readingSince) = (true, owner.now, nil)
        isHead = request.method == "HEAD"
        self.keepsOpen = keepsOpen
        owner.serve(request, stream: serial)
    }

    func answer(_ answer: ServedAnswer, stream: Int32) {
        guard waits(for: stream) else { return }
        (isWaiting, answeringSince) = (false, nil)
        if !keepsOpen { isOver = true }
        send(answer.head(keepsOpen: keepsOpen, date: owner.wallSeconds))
        if !isHead { send(answer.body) }
        // What came behind the request has waited; its turn is another one.
        if !isStepping, keepsOpen, reader.buffered > 0 { hasBacklog = true }
        owner.hasOutput()
    }

    /// The body has no length: it ends with the connection (RFC 9112, 6.3).
    func open(_ answer: ServedAnswer, stream: Int32) -> Bool {
        guard waits(for: stream) else { return false }
        (isWaiting, answeringSince, isStreaming, isOver) = (false, nil, !isHead, isHead)
        send(answer.head(keepsOpen: false, isOpenEnded: true, date: owner.wallSeconds))
        owner.hasOutput()
        return isStreaming
    }

    func append(_ piece: [UInt8], stream: Int32) {
        guard isStreaming, stream == serial else { return }
        send(piece)
        owner.hasOutput()
    }

    func endStream(_ stream: Int32) {
        guard isStreaming, stream == serial else { return }
        (isStreaming, isOver) = (false, true)
        owner.hasOutput()
    }

    func state(of stream: Int32) -> AnswerStream.State {
        guard isStreaming, stream == serial else { return .gone }
        return hasUnsent ? .unread : .taken
    }

    func gather(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let count = min(buffer.count, output.count - sent)
        output.withUnsafeBytes { bytes in
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[sent..<(sent + count)]))
        }
        sent += count
        if sent == output.count { (output, sent) = ([], 0) }
        return count
    }

    private func send(_ bytes: [UInt8]) {
        if sent > 0 {
            output.removeFirst(sent)
            sent = 0
        }
        output += bytes
    }
}
