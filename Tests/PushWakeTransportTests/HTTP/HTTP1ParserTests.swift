// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeTransport

@Suite struct `HTTP/1.1 parser` {
    func parse(_ text: String, step: Int, isClient: Bool = true) throws -> [HTTP1Parser.Message] {
        var parser = HTTP1Parser(isClient: isClient, bodyLimit: 100, headLimit: 1000)
        var messages: [HTTP1Parser.Message] = []
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: step) {
            Array(bytes[start..<min(bytes.count, start + step)]).withUnsafeBytes { parser.append($0) }
            while let message = try parser.next() { messages.append(message) }
        }
        if let last = parser.end() { messages.append(last) }
        return messages
    }

    @Test(arguments: [1, 2, 7, 10_000])
    func `reads the same message in pieces of any size`(step: Int) throws {
        let text =
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A:  b \r\n\r\nhello"
            + "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n10;x=y\r\n0123456789abcdef\r\n0\r\nT: v\r\n\r\n"
            + "HTTP/1.1 204 No Content\r\n\r\n" + "HTTP/1.1 200 OK\n\nto the end"
        let messages = try parse(text, step: step)
        #expect(
            messages.map(\.startLine) == [
                "HTTP/1.1 200 OK", "HTTP/1.1 201 Created", "HTTP/1.1 204 No Content", "HTTP/1.1 200 OK",
            ])
        #expect(
            messages.map { String(decoding: $0.body, as: UTF8.self) } == [
                "hello", "abc0123456789abcdef", "", "to the end",
            ])
        #expect(messages.first?["x-a"] == "b")
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\n: empty\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\na",
        "HTTP/1.1 200 OK\r\ncontent-length: -0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffff\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nx: " + String(repeating: "y", count: 2000),
        String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 101),
        "220 mail.example.com ESMTP\r\n\r\n", "HTTP/1.1 2\r\n\r\n", "HTTP/1.1 2xx OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1  200\r\n\r\n", "HTTP/1.1 099 Low\r\n\r\n",
        // A greeting, and the SETTINGS of a server that speaks HTTP/2 unasked: no more will come.
        "220 mail.example.com ESMTP\r\n", "SSH-2.0-x\r\n", "\r\nHTTX", "\0\0\u{6}\u{4}\0\0\0\0\0\0\u{3}\0\0\0d",
    ])
    func `refuses what is not an HTTP`(text: String) {
        for step in [1, 10_000] {
            #expect(throws: HTTP1Parser.Failure.self) { try parse(text, step: step) }
        }
    }

    /// Not again from its beginning with each byte: a server may send them one by one.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            "HTTP/1.1 200 OK\r\n" + String(repeating: "x: y\r\n", count: 33_000) + "content-length: 0\r\n\r\n",
            String(repeating: "\r\n", count: 100_000) + "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nt: "
                + String(repeating: "v", count: 200_000) + "\r\n\r\n",
        ])
    func `reads each byte of a long head or trailer once`(text: String) throws {
        var parser = HTTP1Parser(isClient: true, bodyLimit: 100, headLimit: 500_000)
        var messages: [HTTP1Parser.Message] = []
        for byte in text.utf8 {
            withUnsafeBytes(of: byte) { parser.append($0) }
            while let message = try parser.next() { messages.append(message) }
        }
        #expect(messages.map(\.startLine) == ["HTTP/1.1 200 OK"])
    }

    @Test(arguments: [1, 3, 1000])
    func `reads fields as old servers write them`(step: Int) throws {
        let text =
            "HTTP/1.1 200 OK\r\nx-a: one\r\n two\r\n\t three \r\nContent-Length : 2\r\nx-b:\r\n\r\nokHTTP/1.1 404 No\r\n\r\n"
        let messages = try parse(text, step: step)
        #expect(messages.map { String(decoding: $0.body, as: UTF8.self) } == ["ok", ""])
        #expect(messages.first?["x-a"] == "one two three")
        #expect(messages.first?["x-b"] == "")
        #expect(throws: HTTP1Parser.Failure.self) { try parse("HTTP/1.1 200 OK\r\n folded\r\n\r\n", step: step) }
    }

    @Test(arguments: [1, 7, 2000], [(1000, true), (1001, false)])
    func `takes a line as long as the limit in pieces of any size`(step: Int, line: (length: Int, isTaken: Bool)) throws
    {
        let text =
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n" + String(repeating: "t", count: line.length)
        #expect((try? parse(text + "\r\n\r\n", step: step).count) == (line.isTaken ? 1 : nil))
    }

    @Test func `keeps a body within its limit and goes on after it`() throws {
        let text =
            "HTTP/1.1 200 OK\r\ncontent-length: 300\r\n\r\n" + String(repeating: "b", count: 300)
            + "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
        let messages = try parse(text, step: 13)
        #expect(messages.map(\.body.count) == [100, 0])
        #expect(messages.map(\.isTruncated) == [true, false])
    }
}
