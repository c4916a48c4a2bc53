// SPDX-License-Identifier: MIT

import PushWakeCore

/// A strict JSON parser for tests: what templates give is read by code that shares nothing with them.
struct JSONReader {
    private let scalars: [Unicode.Scalar]
    private var index = 0

    static func parse(_ bytes: [UInt8]) -> JSONValue? {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        return parse(text)
    }

    static func parse(_ text: String) -> JSONValue? {
        var reader = JSONReader(scalars: Array(text.unicodeScalars))
        guard let value = reader.value() else { return nil }
        reader.space()
        return reader.index == reader.scalars.count ? value : nil
    }

    private init(scalars: [Unicode.Scalar]) { self.scalars = scalars }

    private var next: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard next == scalar else { return false }
        index += 1
        return true
    }

    private mutating func space() {
        while let scalar = next, " \n\r\t".unicodeScalars.contains(scalar) { index += 1 }
    }

    private mutating func value() -> JSONValue? {
        space()
        switch next {
        case "{": return object()
        case "[": return array()
        case "\"": return string().map { .string($0) }
        case "t": return word("true", .bool(true))
        case "f": return word("false", .bool(false))
        case "n": return word("null", .null)
        default: return number()
        }
    }

    private mutating func word(_ text: String, _ value: JSONValue) -> JSONValue? {
        for scalar in text.unicodeScalars where !take(scalar) { return nil }
        return value
    }

    private mutating func number() -> JSONValue? {
        let start = index
        while let scalar = next, "+-.eE0123456789".unicodeScalars.contains(scalar) { index += 1 }
        let text = String(String.UnicodeScalarView(scalars[start..<index]))
        if let integer = Int64(text) { return .integer(integer) }
        return Double(text).map { .number($0) }
    }

    private mutating func object() -> JSONValue? {
        index += 1
        var members: [JSONValue.Member] = []
        space()
        if take("}") { return .object(members) }
        repeat {
            space()
            guard next == "\"", let name = string() else { return nil }
            space()
            guard take(":"), let value = value() else { return nil }
            members.append(.init(name, value))
            space()
        } while take(",")
        return take("}") ? .object(members) : nil
    }

    private mutating func array() -> JSONValue? {
        index += 1
        var items: [JSONValue] = []
        space()
        if take("]") { return .array(items) }
        repeat {
            guard let value = value() else { return nil }
            items.append(value)
            space()
        } while take(",")
        return take("]") ? .array(items) : nil
    }

    private mutating func string() -> String? {
        index += 1
        var units: [UInt16] = []
        while let scalar = next {
            index += 1
            if scalar == "\"" { return String(decoding: units, as: UTF16.self) }
            if scalar.value < 0x20 { return nil }
            if scalar != "\\" {
                units.append(contentsOf: String(scalar).utf16)
                continue
            }
            guard let escaped = next else { return nil }
            index += 1
            switch escaped {
            case "\"", "\\", "/": units.append(UInt16(escaped.value))
            case "b": units.append(8)
            case "f": units.append(12)
            case "n": units.append(10)
            case "r": units.append(13)
            case "t": units.append(9)
            case "u":
                guard index + 4 <= scalars.count,
                    let unit = UInt16(String(String.UnicodeScalarView(scalars[index..<(index + 4)])), radix: 16)
                else { return nil }
                units.append(unit)
                index += 4
            default: return nil
            }
        }
        return nil
    }
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
