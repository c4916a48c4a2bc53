// SPDX-License-Identifier: MIT

internal import CHiredis
internal import PushWakeCore

/// An answer of the server (RESP2).
enum ValkeyReply: Equatable {
    case status(String)
    /// Begins with a word in capitals: `MOVED`, `READONLY`, ...
    case error(String)
    case integer(Int64)
    case bytes([UInt8])
    case null
    case array([ValkeyReply])

    /// The bytes of a bulk; nil for anything else.
    var bulk: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }

    /// A bulk as text.
    var text: String? { bulk.map { String(decoding: $0, as: UTF8.self) } }

    /// The elements of an array; empty for anything else.
    var elements: [ValkeyReply] { if case .array(let elements) = self { elements } else { [] } }
}

/// hiredis as it is used here: its reader, on bytes. What a server announces is bounded: hiredis would make room for all
/// elements of an array before the first has come, 16 GB for 13 bytes.
final class ValkeyReader {
    /// Elements of an array; no answer that is asked for has more than a cluster has slots.
    private static let mostElements = 1 << 20
    /// Bytes of a reply that is not whole.
    private static let mostPending = 1 << 24

    /// How hiredis makes replies, as it is; nil when memory is short.
    private static let made: redisReplyObjectFunctions? = {
        guard let reader = redisReaderCreate() else { return nil }
        defer { redisReaderFree(reader) }
        return reader.pointee.fn?.pointee
    }()

    // SAFETY: written once, before the first reader is made, and never freed.
    nonisolated(unsafe) private static let bounded: UnsafeMutablePointer<redisReplyObjectFunctions>? = {
        guard var functions = made else { return nil }
        functions.createArray = { task, count in
            count > ValkeyReader.mostElements ? nil : ValkeyReader.made?.createArray?(task, count)
        }
        let kept = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
        kept.initialize(to: functions)
        return kept
    }()

    private let reader: UnsafeMutablePointer<redisReader>

    /// Nil when memory is short.
    init?() {
        guard let functions = Self.bounded, let made = redisReaderCreateWithFunctions(functions) else { return nil }
        reader = made
    }

    deinit { redisReaderFree(reader) }

    /// Takes bytes as they come; false when they are no RESP.
    func feed(_ bytes: UnsafeRawBufferPointer) -> Bool {
        redisReaderFeed(reader, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count) == REDIS_OK
    }

    /// What `next` gives.
    enum Step {
        case reply(ValkeyReply)
        case incomplete
        case broken(String)
    }

    /// The next whole reply.
    func next() -> Step {
        var object: UnsafeMutableRawPointer?
        guard redisReaderGetReply(reader, &object) == REDIS_OK else {
            if reader.pointee.err == REDIS_ERR_OOM { return .broken("an answer is too long") }
            let text = withUnsafeBytes(of: reader.pointee.errstr) { $0.prefix { $0 != 0 }.map { $0 } }
            return .broken(String(decoding: text, as: UTF8.self))
        }
        guard let object else {
            return reader.pointee.len > Self.mostPending ? .broken("an answer is too long") : .incomplete
        }
        defer { freeReplyObject(object) }
        return .reply(Self.value(of: object.assumingMemoryBound(to: redisReply.self).pointee))
    }

    // The reader bounds the depth.
    private static func value(of reply: redisReply) -> ValkeyReply {
        switch reply.type {
        case REDIS_REPLY_STATUS: .status(String(decoding: bytes(of: reply), as: UTF8.self))
        case REDIS_REPLY_ERROR: .error(String(decoding: bytes(of: reply), as: UTF8.self))
        case REDIS_REPLY_INTEGER: .integer(reply.integer)
        case REDIS_REPLY_STRING: .bytes(bytes(of: reply))
        case REDIS_REPLY_ARRAY:
            .array((0..<Int(reply.elements)).map { reply.element[$0].map { value(of: $0.pointee) } ?? .null })
        default: .null
        }
    }

    private static func bytes(of reply: redisReply) -> [UInt8] {
        guard let start = reply.str else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(reply.len)))
    }
}

/// A command as it goes over the wire: an array of bulks, which is all that RESP2 has for it. hiredis prints each length with
/// `sprintf`, and wants a pointer to each word: a third of what a question cost.
enum ValkeyCommand {
    private static let longestHead = 24

    /// Its bytes.
    static func bytes(_ words: [[UInt8]]) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(words.reduce(longestHead) { $0 + $1.count + longestHead })
        append(UInt8(ascii: "*"), words.count, to: &out)
        for word in words {
            append(UInt8(ascii: "$"), word.count, to: &out)
            word.span.append(to: &out)
            endLine(&out)
        }
        return out
    }

    private static func endLine(_ out: inout [UInt8]) {
        out.append(0x0D)
        out.append(0x0A)
    }

    private static func append(_ kind: UInt8, _ number: Int, to out: inout [UInt8]) {
        out.append(kind)
        var unit = 1
        while number / unit >= 10 { unit *= 10 }
        while unit > 0 {
            out.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / unit % 10))
            unit /= 10
        }
        endLine(&out)
    }
}
