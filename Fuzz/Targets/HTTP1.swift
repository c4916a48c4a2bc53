// SPDX-License-Identifier: MIT

import PushWakeCore

@testable import PushWakeTransport

/// Reads any bytes as HTTP/1.1: the same comes out in whatever pieces they arrive, and within the limits.
///
/// The first byte picks the direction and the size of the pieces; the rest is what the peer sends. A client session
/// and the answer of a proxy are read as well.
public func fuzzHTTP1(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = Array(UnsafeBufferPointer(start: start, count: count))[...]
    guard let choice = input.popFirst() else { return 0 }
    let bytes = Array(input)
    let step = Int(choice >> 2) + 1
    let isClient = choice & 1 == 0
    let whole = HTTP1Reading(bytes, step: max(bytes.count, 1), isClient: isClient, expectsNoBody: choice & 2 != 0)
    let pieces = HTTP1Reading(bytes, step: step, isClient: isClient, expectsNoBody: choice & 2 != 0)
    guard whole.messages == pieces.messages, whole.failed == pieces.failed else {
        fatalError("at once: \(whole), in pieces of \(step): \(pieces)")
    }
    exchange(bytes, step: step)
    tunnel(bytes, step: step)
    listen(bytes, step: step)
    return 0
}

private struct HTTP1Reading {
    var messages: [HTTP1Parser.Message] = []
    var failed = false

    init(_ bytes: [UInt8], step: Int, isClient: Bool, expectsNoBody: Bool) {
        var parser = HTTP1Parser(isClient: isClient, bodyLimit: 50, headLimit: 200)
        parser.expectsNoBody = expectsNoBody
        do throws(HTTP1Parser.Failure) {
            for piece in Pieces(of: bytes, step) {
                piece.withUnsafeBytes { parser.append($0) }
                while let message = try parser.next() { messages.append(message) }
            }
            if let last = parser.end() { messages.append(last) }
        } catch {
            failed = true
        }
        for message in messages {
            let head = message.headers.reduce(message.startLine.utf8.count) {
                $0 + $1.name.utf8.count + $1.value.utf8.count
            }
            // Bytes that are no text become three each.
            guard message.body.count <= 50, head <= 600 else { fatalError("too long: \(message)") }
        }
    }
}

/// A request, and these bytes as whatever comes after it.
private func exchange(_ bytes: [UInt8], step: Int) {
    let session = HTTP1ClientSession(limits: HTTPAnswerLimits(bodyBytes: 50))
    var begun = 0
    var ended = 0
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
    defer { buffer.deallocate() }
    func turn() {
        for exchange in session.takeEnded() {
            guard exchange.end != nil, exchange.response.body.count <= 50 else { fatalError("no end, or too long") }
            ended += 1
        }
        guard session.freeStreams > 0 else { return }
        let next = ReadyExchange(HTTPRequest(), deadline: .max) { _ in }
        guard let count = try? session.submit(next, now: 0), count > 0 else { return }
        begun += 1
        _ = session.gather(into: buffer, position: 0)
    }
    turn()
    for piece in Pieces(of: bytes, step) {
        guard piece.withUnsafeBytes({ session.receive($0) }) else { break }
        turn()
    }
    session.receivedEnd()
    session.connectionLost("over", sent: 0)
    turn()
    guard begun == ended else { fatalError("\(begun) requests, \(ended) ends") }
}

private func tunnel(_ bytes: [UInt8], step: Int) {
    guard let origin = HTTPOrigin("https://api.push.apple.com") else { return }
    let tunnel = ProxyTunnel(to: origin, proxy: nil)
    for piece in Pieces(of: bytes, step) where tunnel.state == .waiting {
        piece.withUnsafeBytes { tunnel.receive($0) }
    }
    if case .refused(let words) = tunnel.state, words.count > 300 { fatalError("\(words.count) characters") }
}

/// Each piece ends with its memory, so that a look past its end is seen by a sanitizer. All whole ones share it.
private struct Pieces: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>
    private var piece: [UInt8]

    init(of bytes: [UInt8], _ step: Int) {
        rest = bytes[...]
        piece = [UInt8](repeating: 0, count: Swift.min(step, bytes.count))
    }

    mutating func next() -> [UInt8]? {
        guard !rest.isEmpty else { return nil }
        guard rest.count >= piece.count else {
            defer { rest = [] }
            return Array(rest)
        }
        for index in piece.indices { piece[index] = rest[rest.startIndex + index] }
        rest = rest.dropFirst(piece.count)
        return piece
    }
}

/// What our own listener reads: the same requests in whatever pieces they arrive, within its limits, and what is left
/// over after a refusal is nothing.
private func listen(_ bytes: [UInt8], step: Int) {
    let whole = served(bytes, step: max(bytes.count, 1))
    let inPieces = served(bytes, step: step)
    guard whole == inPieces else { fatalError("at once: \(whole), in pieces of \(step): \(inPieces)") }
}

private func served(_ bytes: [UInt8], step: Int) -> [HTTP1RequestReader.Step] {
    var limits = HTTP1RequestReader.Limits()
    (limits.head, limits.fields, limits.body) = (200, 5, 50)
    var reader = HTTP1RequestReader(limits: limits)
    var steps: [HTTP1RequestReader.Step] = []
    for piece in Pieces(of: bytes, step) {
        reader.append(piece.span)
        while true {
            let step = reader.next()
            if step == .incomplete { break }
            // Whether the body is there already decides if it has to be asked for.
            if step != .continueWanted { steps.append(step) }
            if case .request(let request, _) = step {
                guard request.body.count <= 50, request.headers.count <= 5 else { fatalError("too long: \(request)") }
                _ = HTTPCredentials(request["authorization"])
                _ = try? FormFields(request.body)
            }
            if case .refused = step { guard reader.buffered == 0 else { fatalError("bytes are kept") } }
        }
    }
    return steps
}
