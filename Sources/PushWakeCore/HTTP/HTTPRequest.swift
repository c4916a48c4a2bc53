// SPDX-License-Identifier: MIT

internal import PushWakeBytes

/// One HTTP request, laid out for the wire: all names and values in one buffer, so that
/// building a push costs two allocations and submitting it none.
///
/// Pseudo header fields (`:method`, `:scheme`, `:authority`, `:path`) come first and in that
/// order; names are lower case (RFC 9113, 8.2).
public struct HTTPRequest: Equatable, Sendable {
    /// One header field: where its name and the value right behind it lie in `storage`.
    public struct Field: Equatable, Sendable {
        /// First byte of the name.
        public let nameStart: UInt32
        /// End of the name, and first byte of the value.
        public let nameEnd: UInt32
        /// End of the value.
        public let valueEnd: UInt32
        /// Kept out of the HPACK table: unique per push (`:path`, `apns-id`) or secret.
        public let isNeverIndexed: Bool
    }

    /// Fields that it shares with others. Its own pseudo fields go out after the header block's, its others last.
    public var headerBlock: HTTPHeaderBlock?
    /// Names and values of all own fields, one after the other.
    public private(set) var storage: [UInt8] = []
    /// Its own fields, in the order in which they were appended.
    public private(set) var fields: [Field] = []
    /// Empty for a request without one.
    public var body: [UInt8] = []

    /// An empty request with room for that many bytes of names and values, and for that many fields.
    public init(reservingBytes bytes: Int = 640, fields count: Int = 12) {
        storage.reserveCapacity(bytes)
        fields.reserveCapacity(count)
    }

    /// Appends one header field; the value may be text or raw bytes.
    public mutating func append(_ name: String, _ value: String, neverIndexed: Bool = false) {
        append(name, neverIndexed: neverIndexed) { value.utf8.span.append(to: &$0) }
    }

    /// Appends one header field whose value `write` puts together in place.
    public mutating func append(_ name: String, neverIndexed: Bool = false, _ write: (inout [UInt8]) -> Void) {
        let start = UInt32(truncatingIfNeeded: storage.count)
        name.utf8.span.append(to: &storage)
        let middle = UInt32(truncatingIfNeeded: storage.count)
        write(&storage)
        let end = UInt32(truncatingIfNeeded: storage.count)
        fields.append(Field(nameStart: start, nameEnd: middle, valueEnd: end, isNeverIndexed: neverIndexed))
    }

    /// The same for a value of at most `room` bytes: the array is asked once. With `nameCount`, what is behind so many bytes of the
    /// name is the beginning of the value.
    @inline(__always)
    mutating func append(
        _ name: String, nameCount: Int? = nil, neverIndexed: Bool = false, room: Int,
        _ write: (inout OutputSpan<UInt8>) -> Void
    ) {
        let name = name.utf8.span
        let start = UInt32(truncatingIfNeeded: storage.count)
        storage.append(addingCapacity: name.count &+ room) { (end: inout OutputSpan<UInt8>) in
            end.append(copying: name)
            write(&end)
        }
        fields.append(
            Field(
                nameStart: start, nameEnd: start &+ UInt32(truncatingIfNeeded: nameCount ?? name.count),
                valueEnd: UInt32(truncatingIfNeeded: storage.count), isNeverIndexed: neverIndexed))
    }

    /// Empties it and keeps its room, so that writing many requests into one costs no allocation.
    public mutating func removeAll() {
        headerBlock = nil
        storage.removeAll(keepingCapacity: true)
        // A few: taken away one by one they cost less than all at once.
        while fields.popLast() != nil {}
        if !body.isEmpty { body.removeAll(keepingCapacity: true) }
    }

    /// All fields in the order in which they go out. For HTTP/1.1, `explain` and tests; it allocates.
    public var headerList: [FieldText] {
        let own = fields.map { FieldText($0, in: storage) }
        let shared =
            headerBlock.map { headerBlock in headerBlock.fields.map { FieldText($0, in: headerBlock.storage) } } ?? []
        func pseudo(_ list: [FieldText]) -> ArraySlice<FieldText> { list.prefix { $0.name.hasPrefix(":") } }
        func rest(_ list: [FieldText]) -> ArraySlice<FieldText> { list.drop { $0.name.hasPrefix(":") } }
        return Array(pseudo(shared) + pseudo(own) + rest(shared) + rest(own))
    }

    /// The value under a name, for tests, `explain` and logs.
    public subscript(name: String) -> String? { headerList.first { $0.name == name }?.value }

    /// One header field as text.
    public struct FieldText: Equatable, Sendable {
        public let name: String
        public let value: String
        public let isNeverIndexed: Bool

        init(_ field: Field, in storage: [UInt8]) {
            name = String(decoding: storage[Int(field.nameStart)..<Int(field.nameEnd)], as: UTF8.self)
            value = String(decoding: storage[Int(field.nameEnd)..<Int(field.valueEnd)], as: UTF8.self)
            isNeverIndexed = field.isNeverIndexed
        }
    }
}

/// The header fields that many requests share, written once: what does not depend on the push.
///
/// Its bytes never change, so that a connection can refer to them instead of copying them for every request.
public final class HTTPHeaderBlock: Equatable, Sendable {
    /// All names and values, one after the other.
    public let storage: [UInt8]
    /// Ranges into `storage`.
    public let fields: [HTTPRequest.Field]

    /// Takes the fields of a request that has no head itself; its body is left out.
    public init(_ request: HTTPRequest) {
        storage = request.storage
        fields = request.fields
    }

    public static func == (a: HTTPHeaderBlock, b: HTTPHeaderBlock) -> Bool {
        a === b || a.storage == b.storage && a.fields == b.fields
    }
}

/// One HTTP answer, bounded: the transport cuts bodies and header lists that are too long.
public struct HTTPResponse: Equatable, Sendable {
    /// One header field; a name that came twice stands in two.
    public struct Header: Equatable, Sendable {
        /// Lower case.
        public let name: String
        public let value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    public var status: Int
    public var headers: [Header]
    public var body: [UInt8]

    public init(status: Int, headers: [Header] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// First value under a lower-case name.
    public subscript(name: String) -> String? { headers.first { $0.name == name }?.value }
}
