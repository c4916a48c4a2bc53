// SPDX-License-Identifier: MIT

internal import CJansson
public import PushWakeCore

/// Reads JSON with jansson.
public enum JSON {
    /// Where and why a text is no JSON.
    public struct Failure: Error, Equatable, Sendable {
        public let line: Int
        public let column: Int
        public let message: String
    }

    /// Longest text that is read, in bytes.
    public static let longest = 1 << 20
    /// Deepest nesting that is kept; deeper values read as null. jansson itself stops at 2048.
    private static let deepest = 64

    /// The document, or nil when the bytes are none: for answers of providers, where a broken body tells nothing.
    public static func value(_ bytes: [UInt8]) -> JSONValue? { try? parse(bytes) }

    /// The document, or where it is wrong: for files of an operator.
    public static func parse(_ bytes: [UInt8]) throws(Failure) -> JSONValue {
        guard !bytes.isEmpty else { throw Failure(line: 1, column: 1, message: "the text is empty") }
        guard bytes.count <= longest else { throw Failure(line: 1, column: 1, message: "longer than 1 MB") }
        var error = json_error_t()
        let root = bytes.withUnsafeBytes { buffer in
            json_loadb(
                buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count,
                Int(JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL), &error)
        }
        guard let root else {
            let text = withUnsafeBytes(of: &error.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            throw Failure(line: Int(error.line), column: Int(error.column), message: text)
        }
        defer { cjansson_release(root) }
        return convert(root, depth: 0)
    }

    private static func convert(_ json: UnsafeMutablePointer<json_t>, depth: Int) -> JSONValue {
        guard depth < deepest else { return .null }
        switch json.pointee.type {
        case JSON_OBJECT: return object(json, depth)
        case JSON_ARRAY:
            return .array(
                (0..<json_array_size(json)).map { index in
                    json_array_get(json, index).map { convert($0, depth: depth + 1) } ?? .null
                })
        case JSON_STRING: return .string(text(json_string_value(json), json_string_length(json)))
        case JSON_INTEGER: return .integer(Int64(json_integer_value(json)))
        case JSON_REAL: return .number(json_real_value(json))
        case JSON_TRUE: return .bool(true)
        case JSON_FALSE: return .bool(false)
        default: return .null
        }
    }

    private static func object(_ json: UnsafeMutablePointer<json_t>, _ depth: Int) -> JSONValue {
        var members: [JSONValue.Member] = []
        var iterator = json_object_iter(json)
        while let current = iterator {
            let key = json_object_iter_key(current).map { String(cString: $0) } ?? ""
            let value = json_object_iter_value(current).map { convert($0, depth: depth + 1) } ?? .null
            members.append(.init(key, value))
            iterator = json_object_iter_next(json, current)
        }
        return .object(members)
    }

    private static func text(_ pointer: UnsafePointer<CChar>?, _ count: Int) -> String {
        guard let pointer else { return "" }
        return String(decoding: UnsafeRawBufferPointer(start: pointer, count: count), as: UTF8.self)
    }
}
