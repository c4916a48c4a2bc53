// SPDX-License-Identifier: MIT

internal import CHiredis

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

/// hiredis as it is used here: its formatter and its reader, on bytes.
final class ValkeyReader {
    private let reader: UnsafeMutablePointer<redisReader>

    /// Nil when memory is short.
    init?() {
        guard let made = redisReaderCreate() else { return nil }
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
            let text = withUnsafeBytes(of: reader.pointee.errstr) { $0.prefix { $0 != 0 }.map { $0 } }
            return .broken(String(decoding: text, as: UTF8.self))
        }
        guard let object else { return .incomplete }
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

    /// A command as it goes over the wire; empty when memory is short.
    static func command(_ words: [[UInt8]]) -> [UInt8] {
        var out: UnsafeMutablePointer<CChar>?
        // One buffer for all words: hiredis wants a pointer to each.
        let all = words.flatMap { $0 }
        let lengths = words.map(\.count)
        let count = all.withUnsafeBytes { buffer in
            let base = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            var offset = 0
            var pointers: [UnsafePointer<CChar>?] = lengths.map { length in
                defer { offset += length }
                return base.map { $0 + offset }
            }
            return chiredis_format(&out, Int32(words.count), &pointers, lengths)
        }
        guard count > 0, let out else { return [] }
        defer { redisFreeCommand(out) }
        return Array(UnsafeRawBufferPointer(start: out, count: Int(count)))
    }
}
