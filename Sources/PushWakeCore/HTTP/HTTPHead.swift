// SPDX-License-Identifier: MIT

/// The header fields that many requests share, written once: what does not depend on the push.
///
/// Its bytes never change, so that a connection can refer to them instead of copying them for every request.
public final class HTTPHead: Equatable, Sendable {
    /// All names and values, one after the other.
    public let storage: [UInt8]
    /// Ranges into `storage`.
    public let fields: [HTTPRequest.Field]

    /// Takes the fields of a request that has no head itself; its body is left out.
    public init(_ request: HTTPRequest) {
        storage = request.storage
        fields = request.fields
    }

    public static func == (a: HTTPHead, b: HTTPHead) -> Bool {
        a === b || a.storage == b.storage && a.fields == b.fields
    }
}
