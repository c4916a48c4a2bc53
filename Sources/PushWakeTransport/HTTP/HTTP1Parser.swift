// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// Reads HTTP/1.1 messages of one direction, piece by piece (RFC 9112): start line, fields, and a body by length,
/// in chunks, or up to the end of the connection.
struct HTTP1Parser {
    /// One whole message.
    struct Message: Equatable {
        var startLine = ""
        /// Names in lower case.
        var headers: [HTTPResponse.Header] = []
        var body: [UInt8] = []
        var isTruncated = false

        subscript(name: String) -> String? { headers.first { $0.name == name }?.value }

        /// The sender closes the connection behind it: one of the options that Connection lists (RFC 9112, 9.6).
        var closes: Bool {
            headers.contains { header in
                header.name == "connection"
                    && header.value.lowercased().split(whereSeparator: { ", \t".contains($0) }).contains("close")
            }
        }
    }

    enum Failure: Error, Equatable {
        case malformed
        case tooLong
    }

    private enum Body: Equatable {
        case length(Int)
        case chunks
        case untilClose
    }

    private enum State: Equatable {
        case head
        case body(Body)
        case chunkData(Int)
        case chunkEnd
        case trailer
    }

    private let isClient: Bool
    private let bodyLimit: Int
    private let headLimit: Int
    private var buffer: [UInt8] = []
    private var consumed = 0
    /// Where the next head begins, behind empty lines, as far as they have come.
    private var begin = 0
    /// Where the search for the end of a head or line goes on.
    private var searched = 0
    private var state = State.head
    private var message = Message()
    private var trailerBytes = 0
    /// Informational answers since the last real one; a server that sends nothing else must be left.
    private var informational = 0
    private static let mostInformational = 100
    /// The answer to the next request has no body whatever its headers say (CONNECT, HEAD).
    var expectsNoBody = false

    init(isClient: Bool, bodyLimit: Int, headLimit: Int) {
        self.isClient = isClient
        self.bodyLimit = bodyLimit
        self.headLimit = headLimit
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if consumed > 0 {
            buffer.removeFirst(consumed)
            (begin, searched) = (max(0, begin - consumed), max(0, searched - consumed))
            consumed = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// The connection has ended: gives the message whose body ends with it.
    mutating func end() -> Message? {
        guard state == .body(.untilClose) else { return nil }
        state = .head
        defer { message = Message() }
        return message
    }

    /// The next whole message; nil when more bytes are needed.
    mutating func next() throws(Failure) -> Message? {
        while true {
            switch state {
            case .head:
                guard try readHeaderBlock() else { return nil }
                // An informational answer is none (RFC 9110, 15.2).
                if isClient, message.startLine.dropFirst(9).first == "1" {
                    (state, message) = (.head, Message())
                    informational += 1
                    if informational > Self.mostInformational { throw .tooLong }
                }
            case .body(.length(let left)):
                let taken = take(left)
                guard taken == left else {
                    state = .body(.length(left - taken))
                    return nil
                }
                return finish()
            case .body(.untilClose):
                _ = take(.max)
                return nil
            case .body(.chunks):
                guard let line = try takeLine(limit: 256) else { return nil }
                guard let size = Self.chunkSize(line) else { throw .malformed }
                state = size == 0 ? .trailer : .chunkData(size)
            case .chunkData(let left):
                let taken = take(left)
                guard taken == left else {
                    state = .chunkData(left - taken)
                    return nil
                }
                state = .chunkEnd
            case .chunkEnd:
                guard let line = try takeLine(limit: 2) else { return nil }
                guard line.isEmpty else { throw .malformed }
                state = .body(.chunks)
            case .trailer:
                guard let line = try takeLine(limit: headLimit) else { return nil }
                trailerBytes += line.count
                if trailerBytes > headLimit { throw .tooLong }
                if line.isEmpty { return finish() }
            }
        }
    }

    private mutating func finish() -> Message {
        let finished = message
        message = Message()
        state = .head
        trailerBytes = 0
        informational = 0
        return finished
    }

    /// Moves up to `count` bytes to the body; keeps them only within the limit.
    private mutating func take(_ count: Int) -> Int {
        let taken = min(count, buffer.count - consumed)
        let room = max(0, bodyLimit - message.body.count)
        if taken > room { message.isTruncated = true }
        message.body.append(contentsOf: buffer[consumed..<consumed + min(taken, room)])
        consumed += taken
        return taken
    }

    private mutating func takeLine(limit: Int) throws(Failure) -> ArraySlice<UInt8>? {
        guard let end = buffer[max(consumed, searched)...].firstIndex(of: 0x0A) else {
            searched = buffer.count
            // One more may be a CR.
            if buffer.count - consumed > limit + 1 { throw .tooLong }
            return nil
        }
        var line = buffer[consumed..<end]
        if line.last == 0x0D { line = line.dropLast() }
        if line.count > limit { throw .tooLong }
        consumed = end + 1
        return line
    }

    private mutating func readHeaderBlock() throws(Failure) -> Bool {
        guard let length = headLength() else {
            if buffer.count - consumed > headLimit { throw .tooLong }
            if isClient, !mayBeAnswer { throw .malformed }
            return false
        }
        if length > headLimit { throw .tooLong }
        searched = consumed
        message = Message()
        var field: (name: String, value: String)?
        var isFirst = true
        while let line = try takeLine(limit: headLimit) {
            if line.isEmpty {
                // Empty lines before a message are no fault (RFC 9112, 2.2).
                if isFirst { continue }
                break
            }
            if isFirst {
                if isClient, !Self.isStatusLine(line) { throw .malformed }
                message.startLine = String(decoding: line, as: UTF8.self)
                isFirst = false
                continue
            }
            // A value that goes on in the next line (RFC 9112, 5.2).
            if field != nil, line.first == 0x20 || line.first == 0x09 {
                field?.value += " \(Self.trimmed(line))"
                continue
            }
            take(field)
            field = try readField(line)
        }
        take(field)
        state = .body(try bodyKind())
        return true
    }

    private mutating func take(_ field: (name: String, value: String)?) {
        if let field { message.headers.append(.init(name: field.name, value: field.value)) }
    }

    private func readField(_ line: ArraySlice<UInt8>) throws(Failure) -> (name: String, value: String) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { throw .malformed }
        // Before the colon no space may stand, and servers' spaces mean nothing (RFC 9112, 5.1).
        let name = isClient ? Self.trimmed(line[..<colon]) : String(decoding: line[..<colon], as: UTF8.self)
        return (name.lowercased(), Self.trimmed(line[(colon + 1)...]))
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
        let text = bytes.drop { $0 == 0x20 || $0 == 0x09 }
        let end = text.lastIndex { $0 != 0x20 && $0 != 0x09 }.map { $0 + 1 } ?? text.startIndex
        return String(decoding: text[..<end], as: UTF8.self)
    }

    /// Whether what has come of a start line may be that of an answer: who says anything else waits for more from this side.
    private var mayBeAnswer: Bool {
        zip(buffer[max(begin, consumed)...], "HTTP/1.".utf8).allSatisfy { $0 == $1 }
    }

    /// Length of start line and fields up to the empty line; nil while it has not come.
    private mutating func headLength() -> Int? {
        begin = max(begin, consumed)
        while begin < buffer.count, buffer[begin] == 0x0D || buffer[begin] == 0x0A { begin += 1 }
        var index = max(begin, searched)
        while let end = buffer[index...].firstIndex(of: 0x0A) {
            index = end + 1
            if index < buffer.count, buffer[index] == 0x0A { return index + 1 - consumed }
            if index + 1 < buffer.count, buffer[index] == 0x0D, buffer[index + 1] == 0x0A {
                return index + 2 - consumed
            }
        }
        // The last two bytes may be half of the end.
        searched = max(begin, buffer.count - 2)
        return nil
    }

    private func bodyKind() throws(Failure) -> Body {
        if isClient {
            let status = message.startLine.dropFirst(9).prefix(3)
            if expectsNoBody || status.first == "1" || status == "204" || status == "304" { return .length(0) }
        }
        if let coding = message["transfer-encoding"] {
            guard coding.lowercased() == "chunked" else { throw .malformed }
            return .chunks
        }
        if let text = message["content-length"] {
            // Digits alone (RFC 9110, 8.6): what another reader takes for no length would end elsewhere for it.
            guard let length = Int(text), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { throw .malformed }
            // Two lengths would let a server's answer to one request stand for the next one's (RFC 9112, 6.3).
            guard message.headers.allSatisfy({ $0.name != "content-length" || $0.value == text }) else {
                throw .malformed
            }
            return .length(length)
        }
        return isClient ? .untilClose : .length(0)
    }

    /// `HTTP/1.1 200` and whatever follows a space (RFC 9112, 4). Else any greeting would be an answer without an end.
    private static func isStatusLine(_ line: ArraySlice<UInt8>) -> Bool {
        guard line.starts(with: "HTTP/1.".utf8) else { return false }
        let rest = Array(line.dropFirst(7).prefix(6))
        guard rest.count >= 5, rest.count == 5 || rest[5] == 0x20, rest[1] == 0x20 else { return false }
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        return digits.contains(rest[0]) && rest[2] != 0x30 && rest[2...4].allSatisfy { digits.contains($0) }
    }

    private static func chunkSize(_ line: ArraySlice<UInt8>) -> Int? {
        let digits = line.prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 }
        guard !digits.isEmpty, digits.count <= 8 else { return nil }
        return Int(String(decoding: digits, as: UTF8.self), radix: 16).flatMap { $0 >= 0 ? $0 : nil }
    }
}
