// SPDX-License-Identifier: MIT

internal import CJansson
public import PushWakeCore

/// Reads JSON text with jansson. Duplicate keys, trailing garbage and wrong UTF-8 are errors; NUL in strings is not.
public enum JSONParser {
    /// Where and why a text is not JSON.
    public struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
        /// jansson's words.
        public let message: String
        /// From 1; 0 when the text as a whole is refused.
        public let line: Int
        /// From 1, in characters.
        public let column: Int

        /// Place and message.
        public var description: String { line > 0 ? "line \(line), column \(column): \(message)" : message }
    }

    /// Parses a whole text; any JSON value may stand at the top.
    public static func parse(_ text: [UInt8], limit: Int = 1 << 20) throws(Failure) -> JSONValue {
        guard text.count <= limit else {
            throw Failure(message: "longer than \(limit) bytes", line: 0, column: 0)
        }
        var error = json_error_t()
        var root = load(text[...], 0, &error)
        // One integer of more than 64 bits, in a field that nobody reads, must not hide all others.
        if root == nil, json_error_code(&error) == json_error_numeric_overflow {
            root = load(text[...], JSON_DECODE_INT_AS_REAL, &error)
        }
        guard let root else {
            let message = withUnsafeBytes(of: error.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            throw Failure(message: message, line: max(1, Int(error.line)), column: max(1, Int(error.column)))
        }
        defer { cjansson_release(root) }
        return convert(root)
    }

    private static func load(
        _ text: ArraySlice<UInt8>, _ more: Int32, _ error: inout json_error_t
    ) -> UnsafeMutablePointer<json_t>? {
        let flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL | more
        return text.withUnsafeBytes { bytes in
            json_loadb(bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, Int(flags), &error)
        }
    }

    /// Whether a text is one JSON object. Builds no values, because a push service need not look into most payloads.
    public static func isObject(_ text: [UInt8]) -> Bool {
        var error = json_error_t()
        guard let root = load(text[...], JSON_DECODE_INT_AS_REAL, &error) else { return false }
        defer { cjansson_release(root) }
        return root.pointee.type == JSON_OBJECT
    }

    /// Where the value that begins at `start` ends, whatever comes behind it; nil where none begins.
    public static func end(ofValueAt start: Int, in text: [UInt8]) -> Int? {
        guard text.indices.contains(start) else { return nil }
        var error = json_error_t()
        guard let root = load(text[start...], JSON_DISABLE_EOF_CHECK | JSON_DECODE_INT_AS_REAL, &error) else {
            return nil
        }
        cjansson_release(root)
        return start + Int(error.position)
    }

    /// Parses text.
    public static func parse(_ text: String) throws(Failure) -> JSONValue { try parse(Array(text.utf8)) }

    /// jansson refuses more than 2048 levels, which bounds this recursion.
    private static func convert(_ value: UnsafeMutablePointer<json_t>) -> JSONValue {
        switch value.pointee.type {
        case JSON_OBJECT: return .object(members(value))
        case JSON_ARRAY:
            return .array((0..<json_array_size(value)).compactMap { json_array_get(value, $0).map(convert) })
        case JSON_STRING:
            let bytes = UnsafeRawBufferPointer(start: json_string_value(value), count: json_string_length(value))
            return .string(String(decoding: bytes, as: UTF8.self))
        case JSON_INTEGER: return .integer(Int64(json_integer_value(value)))
        case JSON_REAL: return .number(json_real_value(value))
        case JSON_TRUE: return .bool(true)
        case JSON_FALSE: return .bool(false)
        default: return .null
        }
    }

    private static func members(_ object: UnsafeMutablePointer<json_t>) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        members.reserveCapacity(json_object_size(object))
        var iterator = json_object_iter(object)
        while let current = iterator {
            if let key = json_object_iter_key(current), let value = json_object_iter_value(current) {
                members.append(JSONValue.Member(String(cString: key), convert(value)))
            }
            iterator = json_object_iter_next(object, current)
        }
        return members
    }
}
