// SPDX-License-Identifier: MIT

import PushWakeCore

@testable import PushWakeTransport

/// Plays any server against the client's end of an HTTP/2 connection: every request ends once, and what is kept of
/// its answer stays within the limits.
///
/// The input is a list of steps, each a byte and what belongs to it: frames of the server's whose length is right, or
/// any bytes, and in between what our side does.
public func fuzzHTTP2(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let play = HTTP2Play(Array(UnsafeBufferPointer(start: start, count: count))) else { return 0 }
    play.run()
    return 0
}

private final class HTTP2Play {
    /// A request of this size, with a head that others share or all its own.
    private final class Request: HTTPExchange {
        static let head: HTTPHeaderBlock = {
            var request = HTTPRequest()
            request.append(":method", "POST")
            request.append(":scheme", "https")
            request.append(":authority", "api.push.apple.com")
            request.append("apns-topic", "com.example.phone.voip")
            return HTTPHeaderBlock(request)
        }()

        let size: Int
        let sharesHeaderBlock: Bool

        init(size: Int, sharesHeaderBlock: Bool) {
            self.size = size
            self.sharesHeaderBlock = sharesHeaderBlock
            super.init(deadline: .max)
        }

        override func write(into request: inout HTTPRequest) {
            if sharesHeaderBlock {
                request.headerBlock = Self.head
            } else {
                request.append(":method", "POST")
                request.append(":scheme", "https")
                request.append(":authority", "api.push.apple.com")
            }
            request.append(":path", "/3/device/00fc", neverIndexed: true)
            request.append("apns-id", "1", neverIndexed: true)
            request.body.append(contentsOf: repeatElement(0x20, count: size))
        }
    }

    private static let limits = HTTPAnswerLimits(bodyBytes: 300, headerBytes: 200, keptHeaders: nil)
    /// The last is more than the window that a server opens at first.
    private static let sizes = [0, 20, 300, 70_000]

    private let session: HTTP2ClientSession
    private var input: ArraySlice<UInt8>
    private var requests: [Request] = []
    private var ended: Set<ObjectIdentifier> = []
    private var position: UInt64 = 0
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 1)

    init?(_ bytes: [UInt8]) {
        guard let session = try? HTTP2ClientSession(limits: Self.limits, streamCap: 20) else { return nil }
        self.session = session
        input = bytes[...]
    }

    deinit { buffer.deallocate() }

    func run() {
        while let step = input.popFirst(), play(step) {
            for request in session.takeEnded() { check(request) }
        }
        // The kernel took as much as it took.
        session.connectionLost("over", sent: position / 2)
        for request in session.takeEnded() { check(request) }
        guard ended.count == requests.count, session.open.isEmpty else {
            fatalError("\(requests.count) requests, \(ended.count) ends, \(session.open.count) open")
        }
    }

    /// False when the connection is over.
    private func play(_ step: UInt8) -> Bool {
        switch step % 12 {
        case 0, 1: submit(step)
        case 2: return gather(buffer.count)
        case 3: return gather(Int(next()) + 1)
        case 4:
            let index = Int(next())
            if index < session.open.count { session.cancel(session.open[index], "late") }
        case 5:
            session.ping()
            _ = session.takePong()
        case 6: session.terminate()
        case 7: return receive(take(Int(next())))
        case 10:
            // A good answer, most often: a status of HPACK's table on one of our streams.
            let (flags, stream) = (next(), next())
            return receive(frame(1, flags, stream & 15 | 1, [0x88 + (stream >> 4) % 7]))
        case 11:
            let (flags, stream) = (next(), next())
            return receive(frame(0, flags, stream & 15 | 1, take(Int(stream >> 3))))
        default:
            let (kind, flags, stream) = (next(), next(), next())
            return receive(frame(kind, flags, stream, take(Int(next()) * (step > 127 ? 64 : 1))))
        }
        return true
    }

    private func frame(_ kind: UInt8, _ flags: UInt8, _ stream: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let length = payload.count
        return [UInt8(length >> 16), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), kind, flags, 0, 0, 0, stream]
            + payload
    }

    private func submit(_ step: UInt8) {
        guard session.freeStreams > 0, requests.count < 200 else { return }
        let request = Request(size: Self.sizes[Int(step >> 6)], sharesHeaderBlock: step % 12 == 0)
        if let count = try? session.submit(request, now: 0), count > 0 { requests.append(request) }
    }

    private func gather(_ room: Int) -> Bool {
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(room, buffer.count)])
        guard let count = session.gather(into: part, position: position) else { return false }
        position += UInt64(count)
        return !session.isOver
    }

    private func receive(_ bytes: [UInt8]) -> Bool {
        bytes.isEmpty || bytes.withUnsafeBytes { session.receive($0) }
    }

    private func check(_ exchange: HTTPExchange) {
        guard ended.insert(ObjectIdentifier(exchange)).inserted, let end = exchange.end else {
            fatalError("ended twice, or not at all")
        }
        let response = exchange.response
        let headers = response.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        // Bytes that are no text become three each.
        guard response.body.count <= Self.limits.bodyBytes, headers <= 3 * Self.limits.headerBytes else {
            fatalError("\(response.body.count) and \(headers) bytes kept")
        }
        if end == .answered, !(200...999).contains(response.status) { fatalError("status \(response.status)") }
    }

    private func next() -> UInt8 { input.popFirst() ?? 0 }

    private func take(_ count: Int) -> [UInt8] {
        let taken = Array(input.prefix(count))
        input = input.dropFirst(count)
        return taken
    }
}
