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
    enum LastStream: Equatable, Sendable {
        /// The highest stream that came: all of them still get answers.
        case processed
        /// 2^31-1 first, as in a graceful end: no stream is lost.
        case all
        /// 0: the streams without an answer were not processed.
        case none
        /// Streams above this one were not processed; no script of a rule says so.
        case stream(Int32)
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
    /// Only requests beyond so many in a second.
    var excess: Int?
    // What happens.
    var answer: Answer?
    var headers: [ProviderAnswer.Header] = []
    var delay: Int64 = 0
    /// Answers leave in turn, so many a second.
    var pace: Int?
    var isUnanswered = false
    /// An unanswered push counts as delivered.
    var countsAsAccepted = false
    var effects: [Effect] = []
    var handshake: Handshake?

    init() {}
}

extension FaultRule {
    /// Reads one rule of a script.
    init(json: JSONValue, at place: String) throws(FaultScript.Mistake) {
        self.init()
        var reader = try ScriptReader(json, at: place)
        provider = try reader.choice("provider", ProviderName.self, except: .control)
        token = try reader.text("token").map(Glob.init)
        connection = try reader.number("connection").map { Int($0) }
        after = try reader.number("after").map { Int($0) } ?? 0
        every = try reader.number("every").map { Int($0) } ?? 1
        if every == 0 { throw reader.wrong("every", "1 or more") }
        count = try reader.number("count").map { Int($0) } ?? .max
        probability = try reader.share("probability") ?? 1
        isPerConnection = try reader.flag("per_connection") ?? false
        excess = try reader.number("above_per_second").map { Int($0) }
        handshake = try reader.choice("tls", Handshake.self)
        // A handshake comes before any request, so that it knows of none.
        let isOfRequests = provider != nil || token != nil || isPerConnection || excess != nil
        if handshake != nil, isOfRequests || reader.hasOther(than: []) {
            throw FaultScript.Mistake("\(place).tls goes with connection, after, every, count and probability only")
        }
        try readAnswer(&reader, at: place)
        try readEffects(&reader, at: place)
        try reader.end()
        guard answer != nil || !headers.isEmpty else { return }
        let isReset = effects.contains { if case .reset = $0 { true } else { false } }
        if isUnanswered || isReset {
            let name = isUnanswered ? "no_answer" : "refuse or reset"
            throw FaultScript.Mistake(
                "\(place): \(name) goes without status, reason, body or headers; take one or the other away")
        }
    }

    private mutating func readAnswer(_ reader: inout ScriptReader, at place: String) throws(FaultScript.Mistake) {
        delay = try reader.number("delay_ms") ?? 0
        pace = try reader.number("answers_per_second").map { Int($0) }
        if pace == 0 { throw reader.wrong("answers_per_second", "1 or more") }
        isUnanswered = try reader.flag("no_answer") ?? false
        countsAsAccepted = try reader.flag("accept") ?? false
        let status = try reader.number("status")
        let http = try reader.number("http_status")
        let reason = try reader.text("reason")
        let timestamp = try reader.number("timestamp")
        let body = reader.take("body")
        for number in [status, http].compactMap({ $0 }) where number < 200 || number > 599 {
            throw FaultScript.Mistake("\(place): a status lies between 200 and 599")
        }
        if status != nil || http != nil || reason != nil || body != nil {
            answer = Answer(
                status: status.map { Int($0) }, reason: reason, httpStatus: http.map { Int($0) }, timestamp: timestamp,
                body: body)
        } else if timestamp != nil {
            throw FaultScript.Mistake("\(place).timestamp needs a status or a reason")
        }
        guard let value = reader.take("headers") else { return }
        guard case .object(let members) = value else { throw reader.wrong("headers", "an object") }
        for member in members {
            let name = member.name.lowercased()
            guard let text = member.value.string, !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
                throw reader.wrong("headers.\(member.name)", "a string of one line")
            }
            guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenByte) else {
                throw reader.wrong("headers", "of names without spaces and colons; \"\(member.name)\" is none")
            }
            headers.append(.init(name, text))
        }
    }

    private mutating func readEffects(_ reader: inout ScriptReader, at place: String) throws(FaultScript.Mistake) {
        if let value = reader.take("settings") { effects.append(.settings(try Self.settings(value, at: place))) }
        if let pause = try reader.number("pause_reading_ms") { effects.append(.pauseReading(pause)) }
        if let value = reader.take("goaway") { effects.append(try Self.goAway(value, at: place)) }
        if try reader.flag("refuse") == true { effects.append(.reset(code: 7)) }
        if let name = try reader.text("reset") {
            guard let code = Self.errorCode(name) else { throw reader.wrong("reset", "an HTTP/2 error code") }
            effects.append(.reset(code: code))
        }
        switch try reader.text("close") {
        case nil: break
        case "fin"?: effects.append(.close(isAbrupt: false))
        case "rst"?: effects.append(.close(isAbrupt: true))
        default: throw reader.wrong("close", "fin or rst")
        }
    }

    private static func goAway(_ value: JSONValue, at place: String) throws(FaultScript.Mistake) -> Effect {
        var reader = try ScriptReader(value, at: "\(place).goaway")
        let name = try reader.text("code") ?? "NO_ERROR"
        guard let code = errorCode(name) else { throw reader.wrong("code", "an HTTP/2 error code") }
        var debug = try reader.text("debug") ?? ""
        if let reason = try reader.text("reason") {
            debug = String(decoding: JSONText.bytes(.object([.init("reason", .string(reason))])), as: UTF8.self)
        }
        let last = try reader.choice("last_stream", LastStreamWord.self)?.stream ?? .processed
        try reader.end()
        return .goAway(code: code, debug: debug, last: last)
    }

    /// What a field's name may have (RFC 9110, 5.1).
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    private static func settings(_ value: JSONValue, at place: String) throws(FaultScript.Mistake) -> [Setting] {
        var reader = try ScriptReader(value, at: "\(place).settings")
        var settings: [Setting] = []
        let any = Int64(0)...Int64(UInt32.max)
        let names: [(name: String, id: Int32, values: ClosedRange<Int64>)] = [
            ("header_table_size", 1, any), ("max_concurrent_streams", 3, any),
            ("initial_window_size", 4, 0...0x7FFF_FFFF), ("max_frame_size", 5, 16_384...16_777_215),
            ("max_header_list_size", 6, any),
        ]
        for (name, id, values) in names {
            guard let number = try reader.number(name) else { continue }
            guard values.contains(number) else {
                throw reader.wrong(name, "\(values.lowerBound) to \(values.upperBound) (RFC 9113, 6.5.2)")
            }
            settings.append(Setting(id: id, value: UInt32(clamping: number)))
        }
        try reader.end()
        return settings
    }

    /// The number of an HTTP/2 error code (RFC 9113, 7).
    static func errorCode(_ name: String) -> UInt32? {
        let names = [
            "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
            "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
        ]
        return names.firstIndex(of: name).map { UInt32($0) }
    }
}

/// A pattern with `*` for any bytes and `?` for one byte.
struct Glob: Equatable, Sendable {
    private let pattern: [UInt8]

    init(_ text: String) { pattern = Array(text.utf8) }

    /// Says whether all of the bytes fit; linear but for the last star, as in most file name matchers.
    func matches(_ text: ArraySlice<UInt8>) -> Bool {
        var at = text.startIndex
        var here = 0
        var star: (pattern: Int, text: Int)?
        while at < text.endIndex {
            if here < pattern.count, pattern[here] == UInt8(ascii: "*") {
                star = (here, at)
                here += 1
            } else if here < pattern.count, pattern[here] == text[at] || pattern[here] == UInt8(ascii: "?") {
                here += 1
                at += 1
            } else if let last = star {
                star = (last.pattern, last.text + 1)
                here = last.pattern + 1
                at = last.text + 1
            } else {
                return false
            }
        }
        return pattern[here...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}

/// What a script says of `last_stream_id`.
private enum LastStreamWord: String, CaseIterable {
    case processed, all, none

    var stream: FaultRule.LastStream {
        switch self {
        case .processed: .processed
        case .all: .all
        case .none: .none
        }
    }
}
