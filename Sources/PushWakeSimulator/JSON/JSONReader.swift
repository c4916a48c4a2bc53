// SPDX-License-Identifier: MIT

import PushWakeCore

/// Reads JSON by RFC 8259. It is a reader of its own, not the one that the sender uses, so that
/// a mistake of the one does not hide a mistake of the other; and it can check a document
/// without building it, which is all that a push payload needs.
struct JSONReader {
    /// What is wrong, and the byte it was seen at.
    struct Failure: Error, Equatable, Sendable {
        /// The message, without a position.
        let message: String
        /// Bytes before the place.
        let offset: Int
    }

    /// Deeper documents are refused.
    static let deepest = 64

    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var depth = 0

    private init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// Builds a document.
    static func read(_ bytes: [UInt8]) throws(Failure) -> JSONValue {
        let result: Result<JSONValue, Failure> = bytes.withUnsafeBufferPointer { buffer in
            var reader = JSONReader(buffer)
            do throws(Failure) {
                let value = try reader.value()
                try reader.end()
                return .success(value)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Says whether the bytes are one JSON object, and builds nothing.
    static func isObject(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBufferPointer { buffer in
            var reader = JSONReader(buffer)
            reader.skipSpace()
            guard reader.peek() == UInt8(ascii: "{") else { return false }
            do throws(Failure) {
                try reader.skipValue()
                try reader.end()
                return true
            } catch {
                return false
            }
        }
    }

    /// One step into a document.
    enum Step: Equatable {
        case name(String)
        case index(Int)
    }

    /// Where a value or the name of a member stands in a valid document; where the path ends early, the innermost part of it.
    static func offset(of path: [Step], in bytes: [UInt8]) -> Int {
        bytes.withUnsafeBufferPointer { buffer in
            var reader = JSONReader(buffer)
            reader.skipSpace()
            var found = reader.position
            for step in path {
                guard let place = try? reader.enter(step) else { break }
                found = place
            }
            return found
        }
    }

    /// Goes to the value behind a step and says where the step stands; throws where it leads nowhere.
    private mutating func enter(_ step: Step) throws(Failure) -> Int {
        skipSpace()
        var index = 0
        let closing = peek() == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: "]")
        try enter()
        repeat {
            skipSpace()
            let place = position
            if closing == UInt8(ascii: "}") {
                let name = try string()
                skipSpace()
                try expect(UInt8(ascii: ":"))
                if step == .name(name) { return place }
            } else if step == .index(index) {
                return place
            }
            try skipValue()
            index &+= 1
        } while try !isLast(closing: closing)
        throw failure("not there")
    }

    private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

    private func failure(_ message: String) -> Failure { Failure(message: message, offset: position) }

    private mutating func skipSpace() {
        while position < bytes.count, bytes[position] <= 0x20,
            bytes[position] == 0x20 || bytes[position] == 0x0A || bytes[position] == 0x0D || bytes[position] == 0x09
        {
            position &+= 1
        }
    }

    private mutating func end() throws(Failure) {
        skipSpace()
        guard position == bytes.count else { throw failure("text after the document") }
    }

    private mutating func expect(_ byte: UInt8) throws(Failure) {
        guard peek() == byte else { throw failure("expected '\(Character(UnicodeScalar(byte)))'") }
        position &+= 1
    }

    private mutating func enter() throws(Failure) {
        depth &+= 1
        guard depth <= Self.deepest else { throw failure("nested too deep") }
        position &+= 1
    }

    private mutating func word(_ text: StaticString) throws(Failure) {
        let count = text.utf8CodeUnitCount
        guard position &+ count <= bytes.count else { throw failure("unexpected end") }
        for index in 0..<count where bytes[position &+ index] != text.utf8Start[index] {
            throw failure("unexpected token")
        }
        position &+= count
    }

    // MARK: Building

    private mutating func value() throws(Failure) -> JSONValue {
        skipSpace()
        switch peek() {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"):
            try word("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try word("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try word("null")
            return .null
        default: return try number()
        }
    }

    private mutating func object() throws(Failure) -> JSONValue {
        try enter()
        var members: [JSONValue.Member] = []
        skipSpace()
        if peek() == UInt8(ascii: "}") {
            position &+= 1
        } else {
            while true {
                skipSpace()
                let name = try string()
                skipSpace()
                try expect(UInt8(ascii: ":"))
                members.append(.init(name, try value()))
                if try isLast(closing: UInt8(ascii: "}")) { break }
            }
        }
        depth &-= 1
        return .object(members)
    }

    private mutating func array() throws(Failure) -> JSONValue {
        try enter()
        var items: [JSONValue] = []
        skipSpace()
        if peek() == UInt8(ascii: "]") {
            position &+= 1
        } else {
            while true {
                items.append(try value())
                if try isLast(closing: UInt8(ascii: "]")) { break }
            }
        }
        depth &-= 1
        return .array(items)
    }

    private mutating func isLast(closing: UInt8) throws(Failure) -> Bool {
        skipSpace()
        switch peek() {
        case UInt8(ascii: ","):
            position &+= 1
            return false
        case closing:
            position &+= 1
            return true
        default:
            throw failure(position < bytes.count ? "expected ',' or a closing bracket" : "unexpected end of string")
        }
    }

    private mutating func number() throws(Failure) -> JSONValue {
        let start = position
        try skipNumber()
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if let integer = Int64(text) { return .integer(integer) }
        guard let number = Double(text) else { throw failure("unexpected token") }
        return .number(number)
    }

    private mutating func string() throws(Failure) -> String {
        let start = position
        let hasEscapes = try skipString()
        let inner = bytes[(start + 1)..<(position - 1)]
        guard hasEscapes else { return String(decoding: inner, as: UTF8.self) }
        return try unescaped(inner)
    }

    private func unescaped(_ text: Slice<UnsafeBufferPointer<UInt8>>) throws(Failure) -> String {
        var units: [UInt16] = []
        var rest = String(decoding: text, as: UTF8.self).utf16[...]
        while let unit = rest.popFirst() {
            guard unit == 0x5C, let escape = rest.popFirst() else {
                units.append(unit)
                continue
            }
            switch escape {
            case 0x62: units.append(8)
            case 0x66: units.append(12)
            case 0x6E: units.append(10)
            case 0x72: units.append(13)
            case 0x74: units.append(9)
            case 0x75:
                guard rest.count >= 4, let code = UInt16(String(decoding: rest.prefix(4), as: UTF16.self), radix: 16)
                else { throw failure("broken escape") }
                units.append(code)
                rest = rest.dropFirst(4)
            default: units.append(escape)
            }
        }
        return String(decoding: units, as: UTF16.self)
    }

    // MARK: Skipping

    private mutating func skipValue() throws(Failure) {
        skipSpace()
        switch peek() {
        case UInt8(ascii: "{"):
            try enter()
            skipSpace()
            if peek() == UInt8(ascii: "}") {
                position &+= 1
            } else {
                repeat {
                    skipSpace()
                    _ = try skipString()
                    skipSpace()
                    try expect(UInt8(ascii: ":"))
                    try skipValue()
                } while try !isLast(closing: UInt8(ascii: "}"))
            }
            depth &-= 1
        case UInt8(ascii: "["):
            try enter()
            skipSpace()
            if peek() == UInt8(ascii: "]") {
                position &+= 1
            } else {
                repeat { try skipValue() } while try !isLast(closing: UInt8(ascii: "]"))
            }
            depth &-= 1
        case UInt8(ascii: "\""): _ = try skipString()
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        default: try skipNumber()
        }
    }

    private mutating func skipDigits() throws(Failure) {
        let start = position
        while let byte = peek(), byte >= 0x30, byte <= 0x39 { position &+= 1 }
        guard position > start else {
            throw failure(position < bytes.count ? "unexpected token" : "unexpected end of string")
        }
    }

    private mutating func skipNumber() throws(Failure) {
        if peek() == UInt8(ascii: "-") { position &+= 1 }
        let start = position
        try skipDigits()
        guard position == start &+ 1 || bytes[start] != 0x30 else { throw failure("leading zero") }
        if peek() == UInt8(ascii: ".") {
            position &+= 1
            try skipDigits()
        }
        if peek() == UInt8(ascii: "e") || peek() == UInt8(ascii: "E") {
            position &+= 1
            if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { position &+= 1 }
            try skipDigits()
        }
    }

    /// Steps over a string and says whether it holds escapes.
    private mutating func skipString() throws(Failure) -> Bool {
        try expect(UInt8(ascii: "\""))
        var hasEscapes = false
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                position &+= 1
                return hasEscapes
            case UInt8(ascii: "\\"):
                hasEscapes = true
                position &+= 1
                try skipEscape()
            case 0..<0x20: throw failure("control character in a string")
            case 0x20..<0x80: position &+= 1
            default: try skipScalar(lead: byte)
            }
        }
        throw failure("unexpected end of string")
    }

    private mutating func skipEscape() throws(Failure) {
        guard let byte = peek() else { throw failure("unexpected end of string") }
        position &+= 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return
        case UInt8(ascii: "u"):
            for _ in 0..<4 {
                guard let digit = peek(), Character(UnicodeScalar(digit)).isHexDigit else {
                    throw failure("broken escape")
                }
                position &+= 1
            }
        default: throw failure("unknown escape")
        }
    }

    /// Steps over one multi-byte scalar: shortest form, no surrogates (RFC 3629, 4).
    private mutating func skipScalar(lead: UInt8) throws(Failure) {
        let length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2
        guard lead >= 0xC2, lead <= 0xF4, position &+ length <= bytes.count else { throw failure("broken UTF-8") }
        let second = bytes[position &+ 1]
        let low: UInt8 = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80
        let high: UInt8 = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF
        guard second >= low, second <= high else { throw failure("broken UTF-8") }
        for index in 2..<max(2, length) where bytes[position &+ index] & 0xC0 != 0x80 { throw failure("broken UTF-8") }
        position &+= length
    }
}
