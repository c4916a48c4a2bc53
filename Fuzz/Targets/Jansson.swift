// SPDX-License-Identifier: MIT

internal import CJansson
import PushWakeCore
import PushWakeTransport

/// What is JSON is for somebody else to say than for the code under test.
enum Jansson {
    static func isObject(_ text: [UInt8]) -> Bool {
        var error = json_error_t()
        let root = text.withUnsafeBytes {
            json_loadb(
                $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count,
                Int(JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL), &error)
        }
        guard let root else {
            let words = withUnsafeBytes(of: error.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            // Two fields of a template may have names that are one after rendering: legal JSON, if odd.
            return words.hasPrefix("duplicate object key")
        }
        defer { cjansson_release(root) }
        return root.pointee.type == JSON_OBJECT
    }
}

/// Parsed as the engine parses it.
enum JanssonValue {
    static func parse(_ text: [UInt8]) -> JSONValue? { try? JSONParser.parse(text) }
}
