// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `A reader of HTTP/1.1 requests` {
    private func steps(
        _ text: String, pieces: Int = .max, limits: HTTP1RequestReader.Limits = .init()
    ) -> [HTTP1RequestReader.Step] {
        var reader = HTTP1RequestReader(limits: limits)
        var steps: [HTTP1RequestReader.Step] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(pieces))
            rest = rest.dropFirst(piece.count)
            reader.append(piece.span)
            while true {
                let step = reader.next()
                if step == .incomplete { break }
                steps.append(step)
                if case .refused = step { return steps }
            }
        }
        return steps
    }

    private func requests(_ steps: [HTTP1RequestReader.Step]) -> [ServedRequest] {
        steps.compactMap { if case .request(let request, _) = $0 { request } else { nil } }
    }

    @Test(arguments: [1, 2, 3, 7, Int.max]) func `gives the same requests in whatever pieces they come`(pieces: Int) {
        let text =
            "\r\nGET /metrics?a=b%20c&d HTTP/1.1\r\nHost: a\r\nX-Empty:\r\n\r\n"
            + "POST /v1/send HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc"
            + "POST /v1/send HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\nt: u\r\n\r\n"
            + "GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n"
        let steps = steps(text, pieces: pieces)
        let found = requests(steps)
        #expect(found.count == 4 && steps.count == 4)
        #expect(found[0].path == "/metrics" && found[0].query["a"] == "b c" && found[0].query["d"] == "")
        #expect(found[0]["x-empty"] == "" && found[0]["host"] == "a")
        #expect(found[1].body == Array("abc".utf8) && found[2].body == Array("abc".utf8))
        guard case .request(_, keepsOpen: false)? = steps.last else { return #expect(Bool(false), "it stays open") }
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
        ("G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505), ("hello\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\u{0}b\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: a\n\n\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\nx", 400),
        ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\nab\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nExpect: magic\r\nContent-Length: 1\r\n\r\n", 417),
        ("GET /" + String(repeating: "a", count: 20_000), 431),
        ("GET / HTTP/1.1\r\n" + String(repeating: "a: b\r\n", count: 101) + "\r\n", 431),
    ])
    func `refuses what two readers could take for different requests, and what is too long`(text: String, status: Int) {
        for pieces in [1, Int.max] {
            guard case .refused(let refusal)? = steps(text, pieces: pieces).last else {
                return #expect(Bool(false), "it was not refused: \(text.prefix(60))")
            }
            #expect(refusal.status == status, "\(refusal.text)")
        }
    }

    @Test func `asks for the body when the client waits for that, once`() {
        var reader = HTTP1RequestReader()
        let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        reader.append(Array(head.utf8).span)
        let first = [reader.next(), reader.next()]
        #expect(first == [.continueWanted, .incomplete])
        reader.append(Array("ab".utf8).span)
        guard case .request(let request, keepsOpen: true) = reader.next() else { return #expect(Bool(false)) }
        #expect(request.body == Array("ab".utf8))
        let isOver = reader.isBetweenRequests
        #expect(isOver)
    }

    @Test func `tells a pause between requests from the middle of one`() {
        var reader = HTTP1RequestReader()
        var pauses = [reader.isBetweenRequests]
        reader.append(Array("G".utf8).span)
        let step = reader.next()
        pauses.append(reader.isBetweenRequests)
        let buffered = reader.buffered
        #expect(step == .incomplete && pauses == [true, false] && buffered == 1)
    }

    @Test func `takes a proxy's form of a target, and HTTP/1.0 without a host`() {
        let found = requests(steps("GET http://a:80/x?y=z HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.0\r\n\r\n"))
        #expect(found.map(\.path) == ["/x", "/"])
        #expect(found.first?.query["y"] == "z")
    }
}

@Suite struct `A form` {
    @Test func `has its fields in order, escapes resolved`() throws {
        let form = try FormFields(Array("a=1+2&b=%C3%A9&c&a=3&=x".utf8))
        #expect(form.fields.map(\.name) == ["a", "b", "c", "a", ""])
        #expect(form["a"] == "1 2" && form["b"] == "é" && form["c"] == "")
    }

    @Test func `is refused with a wrong escape, a control byte or too many fields`() {
        #expect(throws: FormFields.Failure.unreadable(2)) { try FormFields(Array("a=1&b=%0".utf8)) }
        #expect(throws: FormFields.Failure.unreadable(1)) { try FormFields(Array("a=%0a".utf8)) }
        #expect(throws: FormFields.Failure.unreadable(1)) { try FormFields(Array("a%0a=1".utf8), keepsLines: true) }
        #expect(throws: FormFields.Failure.unreadable(1)) { try FormFields(Array("a=%00".utf8), keepsLines: true) }
        #expect(throws: Never.self) { try FormFields(Array("a=%0a%0d%09".utf8), keepsLines: true) }
        #expect(throws: FormFields.Failure.tooMany) {
            try FormFields(Array(String(repeating: "a&", count: 101).utf8))
        }
    }
}

@Suite struct `A date of HTTP` {
    @Test(
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (Int64.min, "Thu, 01 Jan 1970 00:00:00 GMT"), (Int64.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] as [(Int64, String)])
    func `is written as RFC 9110 has it`(seconds: Int64, text: String) {
        #expect(HTTPDate.text(seconds) == text)
    }
}

@Suite struct `What a slow client may take` {
    private let limits = ServerConnectionTimes.Limits()

    @Test func `is told apart: handshake, request, answer, reading, pause`() {
        var times = ServerConnectionTimes(limits: limits, isTLS: true, now: 0)
        #expect(times.overdue(now: limits.handshake - 1) == nil)
        #expect(times.overdue(now: limits.handshake) == .handshake)
        times.shookHands(now: 100)
        times.update(readingSince: 200, answeringSince: nil, hasOutput: false, now: 300)
        #expect(times.overdue(now: 200 + limits.request) == .request)
        times.update(readingSince: nil, answeringSince: 400, hasOutput: false, now: 400)
        #expect(times.overdue(now: 399 + limits.answer) == nil && times.unproductiveSince == nil)
        #expect(times.overdue(now: 400 + limits.answer) == .answer)
        times.update(readingSince: nil, answeringSince: nil, hasOutput: true, now: 500)
        times.update(readingSince: nil, answeringSince: nil, hasOutput: true, now: 600)
        #expect(times.overdue(now: 500 + limits.reading) == .reading)
        times.update(readingSince: nil, answeringSince: nil, hasOutput: false, now: 700)
        #expect(times.unproductiveSince == 700)
        #expect(times.overdue(now: 700 + limits.idle) == .idle)
    }

    @Test func `a trickle of bytes does not begin a request anew`() {
        var times = ServerConnectionTimes(limits: limits, isTLS: false, now: 0)
        for now in stride(from: Int64(0), to: limits.request, by: 1000) {
            times.update(readingSince: 0, answeringSince: nil, hasOutput: false, now: now)
            #expect(times.overdue(now: now) == nil)
        }
        #expect(times.overdue(now: limits.request) == .request)
    }
}

@Suite struct `A budget of requests` {
    @Test func `lets a burst through, then the rate, for each address`() {
        var budget = RequestBudget(rate: 10)
        let burst = (0..<21).map { _ in budget.take("192.0.2.1", now: 0) }
        #expect(burst == Array(repeating: true, count: 20) + [false])
        let rest = budget.hasRest("192.0.2.1", now: 50)
        #expect(!rest)
        let later = (0..<2).map { _ in budget.take("192.0.2.1", now: 150) }
        #expect(later == [true, false])
        let full = (0..<21).map { _ in budget.take("192.0.2.1", now: 1_000_000) }
        #expect(full == burst)
    }

    @Test func `counts the addresses of one IPv6 network as one, and never lets time run back`() {
        var budget = RequestBudget(rate: 1, seconds: 1)
        let taken = [
            budget.take("2001:db8::1", now: 0), budget.take("2001:db8::ffff", now: 0),
            budget.take("2001:db8::1", now: -1_000_000), budget.take("2001:db8::1", now: 2000),
        ]
        #expect(taken == [true, false, false, true])
    }
}
