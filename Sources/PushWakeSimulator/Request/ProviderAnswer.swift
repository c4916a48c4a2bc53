// SPDX-License-Identifier: MIT

import PushWakeCore

/// What a service says to one request.
public struct ProviderAnswer: Equatable, Sendable {
    /// One answer header; names are lower case.
    public struct Header: Equatable, Sendable {
        public let name: String
        public let value: [UInt8]

        public init(_ name: String, _ value: [UInt8]) {
            self.name = name
            self.value = value
        }

        public init(_ name: String, _ value: String) { self.init(name, Array(value.utf8)) }
    }

    public var status: Int
    /// The vendor's own word for what happened, as the log shows it; "ok" for success.
    public var reason: String
    public var headers: [Header]
    public var body: [UInt8]
    /// The push id to count when the answer leaves; nil when nothing was accepted.
    public var push: PushIdentity?

    public init(
        status: Int, reason: String = "ok", headers: [Header] = [], body: [UInt8] = [], push: PushIdentity? = nil
    ) {
        self.status = status
        self.reason = reason
        self.headers = headers
        self.body = body
        self.push = push
    }

    /// Makes an answer with a JSON body.
    init(status: Int, reason: String, json: JSONValue, headers: [Header] = []) {
        self.init(
            status: status, reason: reason,
            headers: headers + [Header("content-type", "application/json; charset=UTF-8")], body: JSONText.bytes(json))
    }

    /// First value under a lower-case name, as text.
    public subscript(name: String) -> String? {
        headers.first { $0.name == name }.map { String(decoding: $0.value, as: UTF8.self) }
    }
}
