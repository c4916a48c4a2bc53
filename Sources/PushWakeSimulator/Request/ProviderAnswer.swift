// SPDX-License-Identifier: MIT

import PushWakeCore

/// What a service says to one request.
struct ProviderAnswer: Equatable, Sendable {
    /// One answer header; names are lower case.
    struct Header: Equatable, Sendable {
        let name: String
        let value: [UInt8]

        init(_ name: String, _ value: [UInt8]) {
            self.name = name
            self.value = value
        }

        init(_ name: String, _ value: String) { self.init(name, Array(value.utf8)) }
    }

    var status: Int
    /// The vendor's own word for what happened, as the log shows it; "ok" for success.
    var reason: String
    var headers: [Header]
    var body: [UInt8]
    /// The push id to count when the answer leaves; nil when nothing was accepted.
    var push: PushIdentity?

    init(
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
    subscript(name: String) -> String? {
        headers.first { $0.name == name }.map { String(decoding: $0.value, as: UTF8.self) }
    }
}
