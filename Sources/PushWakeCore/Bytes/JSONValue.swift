// SPDX-License-Identifier: MIT

/// A parsed JSON document. The transport layer reads it with jansson, so that answers of
/// providers can be judged here without a C type in sight.
public enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// Members keep the order of the text.
    public struct Member: Equatable, Sendable {
        /// As in the text, escapes resolved.
        public let name: String
        /// What stands after the colon.
        public let value: JSONValue

        /// Pairs a name with a value.
        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// First member under a name; nil when this is no object.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The text; nil when this is none.
    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The number without its fraction; nil when this is none.
    public var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int64(exactly: value.rounded(.towardZero))
        default: nil
        }
    }

    /// The items; nil when this is no array.
    public var array: [JSONValue]? {
        guard case .array(let items) = self else { return nil }
        return items
    }
}
