// SPDX-License-Identifier: MIT

import PushWakeCore

/// One complete request as a server got it.
struct HTTPServerRequest: Sendable {
    /// Names the request on its connection, for the answer. 0 for HTTP/1.
    let stream: Int32
    /// Pseudo header fields first, names in lower case, in the order of the wire.
    var headers: [HTTPResponse.Header] = []
    /// At most as long as the server's limit.
    var body: [UInt8] = []
    /// Headers or body were longer than the server's limits; the rest was dropped.
    var isTruncated = false

    init(stream: Int32) { self.stream = stream }

    /// Value of `:method`; empty when there is none.
    var method: String { self[":method"] ?? "" }
    /// Value of `:path`, query included; empty when there is none.
    var path: String { self[":path"] ?? "" }

    /// First value under a lower-case name.
    subscript(name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// Bounds on what a client may send.
struct HTTPServerLimits: Sendable {
    /// Bytes of body that are kept; the rest is read and dropped.
    var bodyBytes = 65_536
    /// Bytes of names and values that are kept.
    var headerBytes = 32_768
    /// SETTINGS_MAX_CONCURRENT_STREAMS at first.
    var maxConcurrentStreams: UInt32 = 1000

    /// Sets some limits and leaves the others as they are.
    init(bodyBytes: Int = 65_536, headerBytes: Int = 32_768, maxConcurrentStreams: UInt32 = 1000) {
        self.bodyBytes = bodyBytes
        self.headerBytes = headerBytes
        self.maxConcurrentStreams = maxConcurrentStreams
    }
}
