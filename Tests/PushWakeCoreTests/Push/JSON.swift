// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// What requests and templates give, read by jansson, which shares nothing with what writes them.
enum JSON {
    /// Nil where the bytes are no JSON.
    static func parse(_ bytes: [UInt8]) -> JSONValue? { try? JSONParser.parse(bytes) }

    static func parse(_ text: String) -> JSONValue? { try? JSONParser.parse(text) }
}

extension JSONValue {
    /// The value at a dotted path.
    func at(_ path: String) -> JSONValue? {
        path.split(separator: ".").reduce(self as JSONValue?) { $0?[String($1)] }
    }

    var memberNames: [String] {
        guard case .object(let members) = self else { return [] }
        return members.map(\.name)
    }
}
