// SPDX-License-Identifier: MIT

/// One HTTP request, laid out for the wire: all names and values in one buffer, so that
/// building a push costs two allocations and submitting it none.
///
/// Pseudo header fields (`:method`, `:scheme`, `:authority`, `:path`) come first and in that
/// order; names are lower case (RFC 9113, 8.2).
public struct HTTPRequest: Equatable, Sendable {
    /// Ranges into `storage`.
    public struct Field: Equatable, Sendable {
        public let nameStart: UInt32
        public let nameEnd: UInt32
        public let valueEnd: UInt32
        /// Kept out of the HPACK table: unique per push (`:path`, `apns-id`) or secret.
        public let isNeverIndexed: Bool
    }

    public private(set) var storage: [UInt8] = []
    public private(set) var fields: [Field] = []
    public var body: [UInt8] = []

    public init(reservingBytes bytes: Int = 640, fields count: Int = 12) {
        storage.reserveCapacity(bytes)
        fields.reserveCapacity(count)
    }

    /// Appends one header field; the value may be text or raw bytes.
    public mutating func append(_ name: String, _ value: String, neverIndexed: Bool = false) {
        append(name, neverIndexed: neverIndexed) { $0.append(contentsOf: value.utf8) }
    }

    /// Appends one header field whose value `write` puts together in place.
    public mutating func append(_ name: String, neverIndexed: Bool = false, _ write: (inout [UInt8]) -> Void) {
        let start = UInt32(truncatingIfNeeded: storage.count)
        storage.append(contentsOf: name.utf8)
        let middle = UInt32(truncatingIfNeeded: storage.count)
        write(&storage)
        let end = UInt32(truncatingIfNeeded: storage.count)
        fields.append(Field(nameStart: start, nameEnd: middle, valueEnd: end, isNeverIndexed: neverIndexed))
    }

    /// Makes room for what is still to come: one allocation for the text, one for the fields.
    mutating func reserve(bytes: Int, fields count: Int) {
        storage.reserveCapacity(storage.count + bytes)
        fields.reserveCapacity(fields.count + count)
    }

    /// Writes another value for the field at an index, which must exist; the old value's bytes stay unused.
    mutating func replaceField(at index: Int, _ name: String, neverIndexed: Bool, _ write: (inout [UInt8]) -> Void) {
        guard fields.indices.contains(index) else { return }
        append(name, neverIndexed: neverIndexed, write)
        fields[index] = fields.removeLast()
    }

    /// The value under a name, for tests, `explain` and logs.
    public subscript(name: String) -> String? {
        fields.first { self.name(of: $0) == name }.map { value(of: $0) }
    }

    public func name(of field: Field) -> String {
        String(decoding: storage[Int(field.nameStart)..<Int(field.nameEnd)], as: UTF8.self)
    }

    public func value(of field: Field) -> String {
        String(decoding: storage[Int(field.nameEnd)..<Int(field.valueEnd)], as: UTF8.self)
    }
}
