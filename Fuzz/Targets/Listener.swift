// SPDX-License-Identifier: MIT

import PushWakeCore

@testable import PushWakeEngine
@testable import PushWakeSystem
@testable import PushWakeTransport

/// Plays any client against the engine's HTTP listener: every request is handed out once and within the limits, every
/// answer leaves once, and nobody is let in who does not know a secret.
///
/// The first byte picks the version; the rest is a list of steps, each a byte and what belongs to it: what the client
/// sends, and in between what our side does.
public func fuzzListener(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let play = ListenerPlay(Array(UnsafeBufferPointer(start: start, count: count)))
    play.run()
    return 0
}

private final class ListenerPlay: ListenerSessionOwner {
    private static let limits: HTTP1RequestReader.Limits = {
        var limits = HTTP1RequestReader.Limits()
        (limits.head, limits.fields, limits.body) = (2000, 12, 300)
        return limits
    }()
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(4, 0, 0, [])
    private static let mostStreams = 16

    private(set) var now: Int64 = 1
    var wallSeconds: Int64 { ListenerVisitor.begin + now / 1000 }
    private let isHTTP2: Bool
    private var input: ArraySlice<UInt8>
    private var session: (any ListenerSession)?
    private var visitor = ListenerVisitor()
    private var output = ListenerOutput()
    private var served: Set<Int32> = []
    private var slots: [(stream: Int32, slot: AnswerSlot)] = []
    private var streams: [AnswerStream] = []
    private var answersAtOnce = false
    private var answered = 0
    private var isBroken = false
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 1)

    init(_ bytes: [UInt8]) {
        input = bytes[...]
        isHTTP2 = input.popFirst().map { $0 & 1 == 0 } ?? true
        session =
            isHTTP2
            ? HTTP2ListenerSession(owner: self, limits: Self.limits)
            : HTTP1ListenerSession(owner: self, limits: Self.limits)
    }

    deinit { buffer.deallocate() }

    func run() {
        if isHTTP2 { receive(Self.preface) }
        while let step = input.popFirst() {
            play(step)
            check()
        }
        while gather(buffer.count) > 0 {}
        if !isHTTP2 { output.expect(answers: answered) }
        session = nil
        // Who answers later than the client has gone does no harm.
        for (_, slot) in slots { slot.answer(.text(200, "late")) }
        for stream in streams where stream.state != .gone { fatalError("an answer goes on to nobody") }
    }

    private func play(_ step: UInt8) {
        switch step % 12 {
        case 0: sendFrame(step)
        case 1, 2: sendRequest(step, authorization: nil)
        case 3: sendRequest(step, authorization: visitor.authorization(next(), next()))
        case 4: receive(isHTTP2 ? Self.frame(0, next(), next() & 63 | 1, take(Int(next()))) : take(Int(next())))
        case 5: receive(take(Int(next())))
        case 6: _ = gather(Int(next()) * 64 + 1)
        case 7: answer(next(), bodyOf: Int(next()) * (step > 127 ? 1024 : 1))
        case 8: open(next())
        case 9: goOn(next(), with: Int(next()) * (step > 127 ? 512 : 1))
        case 10:
            now += Int64(next()) * (step > 127 ? 4000 : 10)
            answersAtOnce = step & 64 != 0
        default:
            visitor.mayGuess = next() & 1 == 0
            session?.resume()
        }
    }

    // MARK: The client

    private func sendFrame(_ step: UInt8) {
        let (kind, flags, stream) = (next(), next(), next())
        receive(Self.frame(kind, flags, stream, take(Int(next()) * (step > 127 ? 64 : 1))))
    }

    /// A request as most clients send it; what is behind the path's slash comes from the input.
    private func sendRequest(_ step: UInt8, authorization: String?) {
        let (flags, stream) = (next(), next())
        let path = Array("/".utf8) + take(Int(next() & 31))
        let value = authorization ?? String(decoding: take(Int(next() & 127)), as: UTF8.self)
        guard isHTTP2 else {
            let head = Array("GET ".utf8) + path + Array(" HTTP/1.1\r\nhost: h\r\nauthorization: \(value)\r\n\r\n".utf8)
            return receive(head)
        }
        var block: [UInt8] = [flags & 0x40 == 0 ? 0x82 : 0x83, 0x87, 0x41, 1, UInt8(ascii: "h"), 0x04]
        block += Self.literal(path)
        // The static table's name 23, without indexing.
        block += [0x0F, 8] + Self.literal(Array(value.utf8))
        receive(Self.frame(1, step % 12 == 2 ? flags : 5, stream | 1, block))
    }

    /// A string of HPACK, not compressed (RFC 7541, 5.2).
    private static func literal(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count > 126 else { return [UInt8(bytes.count)] + bytes }
        let rest = bytes.count - 127
        return [0x7F] + (rest < 128 ? [UInt8(rest)] : [UInt8(rest & 127) | 128, UInt8(rest >> 7 & 127)]) + bytes
    }

    private static func frame(_ kind: UInt8, _ flags: UInt8, _ stream: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let length = payload.count
        return [UInt8(length >> 16), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), kind, flags, 0, 0, 0, stream]
            + payload
    }

    private func receive(_ bytes: [UInt8]) {
        guard !isBroken, let session, session.wantsInput, !bytes.isEmpty else { return }
        isBroken = !bytes.withUnsafeBytes { session.receive($0) }
    }

    // MARK: Our side

    func hasOutput() {}

    func serve(_ request: ServedRequest, stream: Int32) {
        guard let session, served.insert(stream).inserted, session.waits(for: stream) else {
            fatalError("stream \(stream) is handed out again")
        }
        guard request.body.count <= Self.limits.body, request.headers.count <= Self.limits.fields else {
            fatalError("too long: \(request)")
        }
        visitor.visit(request, now: wallSeconds)
        if let peer = SocketAddress(ip: "192.0.2.1", port: 1) {
            slots.append((stream, AnswerSlot(session, stream: stream, peer: peer, isEncrypted: isHTTP2)))
        }
        if answersAtOnce { answer(UInt8(truncatingIfNeeded: slots.count - 1), bodyOf: 5) }
    }

    private func slot(_ choice: UInt8) -> (stream: Int32, slot: AnswerSlot)? {
        slots.isEmpty ? nil : slots.remove(at: Int(choice) % slots.count)
    }

    private func answer(_ choice: UInt8, bodyOf count: Int) {
        guard let (stream, slot) = slot(choice) else { return }
        if !slot.isGone { answered += 1 }
        slot.answer(ServedAnswer(200, type: "text/plain", body: [UInt8](repeating: 0x61, count: count)))
        slot.answer(.text(200, "a second answer goes nowhere"))
        guard session?.waits(for: stream) != true else { fatalError("waits for a second answer") }
    }

    private func open(_ choice: UInt8) {
        guard let (_, slot) = slot(choice) else { return }
        if !slot.isGone { answered += 1 }
        if let stream = slot.open(ServedAnswer(200, type: "text/event-stream")) { streams.append(stream) }
    }

    private func goOn(_ choice: UInt8, with count: Int) {
        guard !streams.isEmpty else { return }
        let index = Int(choice) % streams.count
        let stream = streams[index]
        if count > 0, stream.state == .taken {
            stream.send([UInt8](repeating: 0x61, count: count))
            guard stream.state == .unread else { fatalError("\(count) bytes are gone") }
        } else if count == 0 {
            stream.end()
            guard stream.state == .gone else { fatalError("goes on behind its end") }
            streams.remove(at: index)
        }
    }

    private func gather(_ room: Int) -> Int {
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(room, buffer.count)])
        guard let session, let count = session.gather(into: part) else { return 0 }
        guard count <= part.count else { fatalError("\(count) bytes in \(part.count)") }
        output.take(UnsafeRawBufferPointer(rebasing: part[..<count]), isHTTP2: isHTTP2)
        return count
    }

    private func check() {
        guard let session else { return }
        let waiting = slots.lazy.filter { session.waits(for: $0.stream) }.count
        guard waiting <= (isHTTP2 ? Self.mostStreams : 1) else { fatalError("\(waiting) requests at once") }
        guard (session.answeringSince != nil) == (waiting > 0) else { fatalError("\(waiting) wait") }
        for since in [session.readingSince, session.answeringSince] {
            if let since, since > now { fatalError("began at \(since), after \(now)") }
        }
        if session.isFinished, session.wantsInput || session.hasUnsent && !isHTTP2 { fatalError("finished, and not") }
    }

    private func next() -> UInt8 { input.popFirst() ?? 0 }

    private func take(_ count: Int) -> [UInt8] {
        let taken = Array(input.prefix(count))
        input = input.dropFirst(count)
        return taken
    }
}

/// What the listener sends: of each stream one head, then its body, then no more.
private struct ListenerOutput {
    private var bytes: [UInt8] = []
    private var headed: Set<UInt32> = []
    private var ended: Set<UInt32> = []

    mutating func take(_ sent: UnsafeRawBufferPointer, isHTTP2: Bool) {
        bytes.append(contentsOf: sent)
        guard isHTTP2 else { return }
        var at = 0
        while bytes.count - at >= 9 {
            let length = Int(bytes[at]) << 16 | Int(bytes[at + 1]) << 8 | Int(bytes[at + 2])
            guard bytes.count - at >= 9 + length else { break }
            let stream = bytes[(at + 5)..<(at + 9)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            check(kind: bytes[at + 3], flags: bytes[at + 4], stream)
            at += 9 + length
        }
        bytes.removeFirst(at)
    }

    private mutating func check(kind: UInt8, flags: UInt8, _ stream: UInt32) {
        guard kind < 2 else { return }
        guard stream & 1 == 1, !ended.contains(stream) else { fatalError("a frame behind the end of \(stream)") }
        if kind == 1 {
            guard headed.insert(stream).inserted else { fatalError("two heads on \(stream)") }
        } else if !headed.contains(stream) {
            fatalError("a body without a head on \(stream)")
        }
        if flags & 1 != 0 { ended.insert(stream) }
    }

    /// Of HTTP/1.1: bodies hold small letters and commas only.
    func expect(answers: Int) {
        let start = Array("HTTP/1.1 200 ".utf8)
        var count = 0
        var at = 0
        while at + start.count <= bytes.count {
            if bytes[at] == start[0], bytes[at..<(at + start.count)].elementsEqual(start) { count += 1 }
            at += 1
        }
        guard count == answers else { fatalError("\(answers) answers, \(count) sent") }
    }
}
