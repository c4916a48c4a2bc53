// SPDX-License-Identifier: MIT

import PushWakeCore

/// One line of a script: which requests it is for, how often, and what then happens.
struct FaultRule: Equatable, Sendable {
    /// Something that happens to the connection or the stream.
    enum Effect: Equatable, Sendable {
        /// GOAWAY with this code, debug data, and what it says of the streams in flight.
        case goAway(code: UInt32, debug: String, last: LastStream)
        /// RST_STREAM in place of an answer.
        case reset(code: UInt32)
        /// The connection ends, in order or with a TCP RST.
        case close(isAbrupt: Bool)
        /// New SETTINGS.
        case settings([Setting])
        /// Nothing is read for this many milliseconds.
        case pauseReading(Int64)
    }

    /// One SETTINGS entry (RFC 9113, 6.5.2).
    struct Setting: Equatable, Sendable {
        let id: Int32
        let value: UInt32
    }

    /// `last_stream_id` of a GOAWAY.
    enum LastStream: String, Sendable, CaseIterable {
        /// The highest stream that came: all of them still get answers.
        case processed
        /// 2^31-1 first, as in a graceful end: no stream is lost.
        case all
        /// 0: the streams without an answer were not processed.
        case none
    }

    /// What happens to a TLS handshake.
    enum Handshake: String, Sendable, CaseIterable {
        /// An alert ends it.
        case fail
        /// Nothing is ever answered.
        case stall
        /// TCP RST at once.
        case refuse
    }

    /// An answer in place of the vendor's.
    struct Answer: Equatable, Sendable {
        /// nil: the status that belongs to the reason.
        var status: Int?
        var reason: String?
        /// HTTP status where `status` stands in the body (Acrobits).
        var httpStatus: Int?
        /// Milliseconds since the epoch.
        var timestamp: Int64?
        var body: JSONValue?
    }

    // Which requests.
    var provider: ProviderName?
    var token: Glob?
    var connection: Int?
    // How often.
    var after = 0
    var every = 1
    var count = Int.max
    var probability = 1.0
    var isPerConnection = false
    // What happens.
    var answer: Answer?
    var headers: [ProviderAnswer.Header] = []
    var delay: Int64 = 0
    var isUnanswered = false
    /// An unanswered push counts as delivered.
    var countsAsAccepted = false
    var effects: [Effect] = []
    var handshake: Handshake?

    init() {}
}
