// SPDX-License-Identifier: MIT

/// One request as it came, in buffers that the next request on the same stream slot uses again.
struct ReceivedRequest: Sendable {
    /// Ranges into `storage`.
    struct Field: Sendable {
        let name: HeaderName
        let nameStart: Int
        let nameEnd: Int
        let valueEnd: Int
    }

    /// More header bytes than this are dropped and `isTooLarge` is set.
    static let longestHeaders = 65_536
    /// More body bytes than this are dropped and `isTooLarge` is set.
    static let longestBody = 1_048_576

    private(set) var storage: [UInt8] = []
    private(set) var fields: [Field] = []
    /// Body bytes received so far.
    private(set) var body: [UInt8] = []
    /// Says that bytes were dropped because a limit was passed.
    private(set) var isTooLarge = false
    /// Says that a header that must stand alone came twice.
    private(set) var hasDuplicates = false
    private var seen: UInt32 = 0

    /// Makes an empty request.
    init() {}

    /// Makes a request from texts, for tests and tools.
    init(_ method: String, _ path: String, headers: [(String, String)] = [], body: [UInt8] = []) {
        append(":method", method)
        append(":path", path)
        for (name, value) in headers { append(name, value) }
        body.withUnsafeBufferPointer { append(body: $0) }
    }

    /// Empties the request and keeps its memory.
    mutating func reset() {
        storage.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
        body.removeAll(keepingCapacity: true)
        isTooLarge = false
        hasDuplicates = false
        seen = 0
    }

    /// Adds one header field; names are lower case.
    mutating func append(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        guard storage.count &+ name.count &+ value.count <= Self.longestHeaders else {
            isTooLarge = true
            return
        }
        let known = HeaderName(name)
        if known == .other {
            hasDuplicates = hasDuplicates || repeats(name)
        } else {
            hasDuplicates = hasDuplicates || seen & known.bit != 0
            seen |= known.bit
        }
        let start = storage.count
        storage.append(contentsOf: name)
        let middle = storage.count
        storage.append(contentsOf: value)
        fields.append(Field(name: known, nameStart: start, nameEnd: middle, valueEnd: storage.count))
    }

    /// Adds one header field from text.
    mutating func append(_ name: String, _ value: String) {
        let name = Array(name.utf8)
        let value = Array(value.utf8)
        name.withUnsafeBufferPointer { name in value.withUnsafeBufferPointer { append(name: name, value: $0) } }
    }

    /// Adds body bytes.
    mutating func append(body bytes: UnsafeBufferPointer<UInt8>) {
        guard body.count &+ bytes.count <= Self.longestBody else {
            isTooLarge = true
            return
        }
        body.append(contentsOf: bytes)
    }

    /// Says whether a header came.
    func has(_ name: HeaderName) -> Bool { seen & name.bit != 0 }

    /// First value of a header, or nil.
    func bytes(_ name: HeaderName) -> ArraySlice<UInt8>? {
        guard has(name) else { return nil }
        for field in fields where field.name == name { return storage[field.nameEnd..<field.valueEnd] }
        return nil
    }

    /// First value of a header as text, or nil.
    func text(_ name: HeaderName) -> String? { bytes(name).map { String(decoding: $0, as: UTF8.self) } }

    /// All header fields in order, as text.
    var headers: [(name: String, value: String)] {
        fields.map {
            (
                String(decoding: storage[$0.nameStart..<$0.nameEnd], as: UTF8.self),
                String(decoding: storage[$0.nameEnd..<$0.valueEnd], as: UTF8.self)
            )
        }
    }

    // RFC 9113, 8.2.3 lets a client split `cookie`; the others that may repeat are of no use to a push service.
    private func repeats(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        for field in fields where field.name == .other && field.nameEnd - field.nameStart == name.count {
            guard storage[field.nameStart..<field.nameEnd].elementsEqual(name) else { continue }
            return !name.elementsEqual("cookie".utf8)
        }
        return false
    }
}

/// A body of type application/x-www-form-urlencoded.
struct FormBody {
    private var fields: [(name: String, value: String)] = []

    init(_ body: [UInt8]) {
        for pair in body.split(separator: UInt8(ascii: "&")).prefix(100) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            fields.append((Self.decode(parts[0]), parts.count > 1 ? Self.decode(parts[1]) : ""))
        }
    }

    /// First value under a name.
    subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    private static func decode(_ text: ArraySlice<UInt8>) -> String {
        var out: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): out.append(0x20)
            case UInt8(ascii: "%") where rest.count >= 2:
                guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                    out.append(byte)
                    continue
                }
                out.append(value)
                rest = rest.dropFirst(2)
            default: out.append(byte)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}

extension Int64 {
    /// Adds; stays at the largest number where it would overflow.
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other > 0 ? .max : .min) : sum
    }

    /// Subtracts; stays at the smallest number where it would overflow.
    func subtractingClamped(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other > 0 ? .min : .max) : difference
    }
}
