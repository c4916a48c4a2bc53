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

/// What the simulator does about one request.
struct Reaction: Equatable {
    /// nil: the request gets no answer.
    var answer: ProviderAnswer?
    /// Milliseconds until the answer leaves.
    var delay: Int64 = 0
    var effects: [FaultRule.Effect] = []
    /// Counted as accepted although no answer is sent.
    var silentPush: PushIdentity?
    var provider: ProviderName?

    /// Status and reason for the log; 0 where nothing is answered.
    var outcome: (status: Int, reason: String) {
        if let answer { return (answer.status, answer.reason) }
        for effect in effects {
            if case .reset(let code) = effect { return (0, code == 7 ? "REFUSED_STREAM" : "RST_STREAM \(code)") }
        }
        return (0, "no answer")
    }
}

/// What is remembered about one connection between its requests.
struct ConnectionMemory {
    /// 1 for the first connection since the start.
    let number: Int
    var apns = APNsSession()
    /// Provider of the first request that was not for OAuth.
    var provider: ProviderName?
    var ruleMatches: FaultBook.ConnectionMatches = [:]
    /// The script that these are of.
    var ruleBook = 0

    init(number: Int) { self.number = number }
}
