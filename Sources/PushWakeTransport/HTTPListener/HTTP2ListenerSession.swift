// SPDX-License-Identifier: MIT

internal import CNGHTTP2
internal import PushWakeCore

/// The server's end of an HTTP/2 connection, without I/O, on nghttp2 (RFC 9113).
///
/// What one client can make it keep is bounded: a few streams, a head of the size that HTTP/1.1 may have, and bodies of
/// 64 kB together, since the connection's window opens only when a request has been handed out. Streams that are begun
/// and reset over and over end the connection (CVE-2023-44487).
final class HTTP2ListenerSession: ListenerSession {
    private static let mostStreams: UInt32 = 16
    /// Resets that may come at once, and then per second.
    private static let resets: (burst: UInt64, rate: UInt64) = (64, 16)

    /// It outlives its session.
    private unowned let owner: any ListenerSessionOwner
    private let limits: HTTP1RequestReader.Limits
    private let session: OpaquePointer
    private let memory = HTTP2Memory()
    private var output = HTTP2Output()
    private var streams: [Int32: Stream] = [:]

    init?(owner: any ListenerSessionOwner, limits: HTTP1RequestReader.Limits) {
        self.owner = owner
        self.limits = limits
        var callbacks: OpaquePointer?
        var option: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0, nghttp2_option_new(&option) == 0, let callbacks else {
            return nil
        }
        defer {
            nghttp2_session_callbacks_del(callbacks)
            nghttp2_option_del(option)
        }
        Self.install(callbacks)
        nghttp2_option_set_stream_reset_rate_limit(option, Self.resets.burst, Self.resets.rate)
        nghttp2_option_set_no_auto_window_update(option, 1)
        nghttp2_option_set_max_settings(option, 16)
        nghttp2_option_set_max_send_header_block_length(option, 65_536)
        var made: OpaquePointer?
        guard nghttp2_session_server_new3(&made, callbacks, nil, option, memory.interface) == 0, let made else {
            return nil
        }
        session = made
        nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
        let settings = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: Self.mostStreams),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: UInt32(limits.head)),
        ]
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
    }

    deinit { nghttp2_session_del(session) }

    var wantsInput: Bool { nghttp2_session_want_read(session) != 0 }
    var hasBacklog: Bool { false }
    var isFinished: Bool { !wantsInput && !output.isWanted(session) }
    var hasUnsent: Bool { output.isWanted(session) || streams.values.contains(where: \.hasUnsent) }
    var isStreaming: Bool { streams.values.contains { $0.stage == .streaming } }
    var readingSince: Int64? { streams.values.lazy.filter { $0.stage == .reading }.map(\.since).min() }
    var answeringSince: Int64? { streams.values.lazy.filter { $0.stage == .waiting }.map(\.since).min() }

    func waits(for stream: Int32) -> Bool { streams[stream]?.stage == .waiting }

    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.bindMemory(to: UInt8.self).baseAddress else { return true }
        return nghttp2_session_mem_recv(session, base, bytes.count) >= 0
    }

    func resume() {}

    func gather(into buffer: UnsafeMutableRawBufferPointer) -> Int? { output.gather(session, into: buffer) }

    func answer(_ answer: ServedAnswer, stream id: Int32) {
        guard let stream = streams[id], stream.stage == .waiting else { return }
        submit(answer, stream)
        owner.hasOutput()
    }

    func open(_ answer: ServedAnswer, stream id: Int32) -> Bool {
        guard let stream = streams[id], stream.stage == .waiting else { return false }
        submit(answer, stream, isOpenEnded: true)
        owner.hasOutput()
        return stream.stage == .streaming
    }

    func append(_ piece: [UInt8], stream id: Int32) {
        guard let stream = streams[id], stream.stage == .streaming else { return }
        if !stream.hasUnsent { (stream.output, stream.sent) = ([], 0) }
        stream.output += piece
        goOn(stream)
    }

    func endStream(_ id: Int32) {
        guard let stream = streams[id], stream.stage == .streaming else { return }
        stream.stage = .answered
        goOn(stream)
    }

    func state(of id: Int32) -> AnswerStream.State {
        guard let stream = streams[id], stream.stage == .streaming else { return .gone }
        return stream.hasUnsent ? .unread : .taken
    }

    /// nghttp2 asks for the body again.
    private func goOn(_ stream: Stream) {
        nghttp2_session_resume_data(session, stream.id)
        owner.hasOutput()
    }

    /// Ends a request that is not whole with an answer, and its stream behind that.
    private func refuse(_ refusal: HTTPRequestError, _ stream: Stream) {
        guard stream.stage == .reading else { return }
        stream.isCutShort = true
        submit(.problem(refusal.status, refusal.text), stream)
    }

    private func submit(_ answer: ServedAnswer, _ stream: Stream, isOpenEnded: Bool = false) {
        stream.stage = isOpenEnded && stream.method != "HEAD" ? .streaming : .answered
        stream.output = stream.method == "HEAD" ? [] : answer.body
        let headers =
            [HTTPResponse.Header(name: ":status", value: String(answer.status))]
            + answer.fields(isOpenEnded: isOpenEnded, date: owner.wallSeconds)
        // All bytes in one buffer first: pointers into it must not move.
        var bytes: [UInt8] = []
        var lengths: [(name: Int, value: Int)] = []
        for header in headers {
            bytes += header.name.utf8
            bytes += header.value.utf8
            lengths.append((header.name.utf8.count, header.value.utf8.count))
        }
        var provider = nghttp2_data_provider()
        provider.source.ptr = Unmanaged.passUnretained(stream).toOpaque()
        provider.read_callback = readListenerBody
        bytes.withUnsafeMutableBufferPointer { buffer in
            guard var at = buffer.baseAddress else { return }
            let fields = lengths.map { length in
                let field = nghttp2_nv(
                    name: at, value: at + length.name, namelen: length.name, valuelen: length.value, flags: 0)
                at += length.name + length.value
                return field
            }
            if stream.output.isEmpty, stream.stage == .answered {
                nghttp2_submit_response(session, stream.id, fields, fields.count, nil)
            } else {
                nghttp2_submit_response(session, stream.id, fields, fields.count, &provider)
            }
        }
    }

    // MARK: Frames

    fileprivate func begin(_ id: Int32) { streams[id] = Stream(id: id, since: owner.now) }

    /// A field of the head, or of a trailer: that comes behind a body, counts for what a request may send, and says nothing
    /// here, as in HTTP/1.1 (RFC 9110, 6.5.1).
    fileprivate func take(_ id: Int32, name: String, value: String, isTrailer: Bool) {
        guard let stream = streams[id], stream.stage == .reading else { return }
        stream.headBytes += name.utf8.count + value.utf8.count + 4
        guard stream.headBytes <= limits.head else { return refuse(.headTooLong(limits.head), stream) }
        guard stream.fields < limits.fields else { return refuse(.tooManyFields(limits.fields), stream) }
        stream.fields += name.utf8.first == UInt8(ascii: ":") ? 0 : 1
        guard !isTrailer else { return }
        switch name {
        case ":method": stream.method = value
        case ":path": stream.target = value
        case ":authority": stream.headers.append(.init(name: "host", value: value))
        case ":scheme": break
        default: stream.headers.append(.init(name: name, value: value))
        }
        if name == "content-length", (Int(value) ?? .max) > limits.body { refuse(.bodyTooLong(limits.body), stream) }
    }

    fileprivate func take(_ id: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard let stream = streams[id], stream.stage == .reading else {
            return giveBack(bytes.count, id)
        }
        stream.unconsumed += bytes.count
        stream.body.append(contentsOf: bytes)
        if stream.body.count > limits.body {
            release(stream)
            refuse(.bodyTooLong(limits.body), stream)
        }
    }

    /// The request is whole.
    fileprivate func finish(_ id: Int32) {
        guard let stream = streams[id] else { return }
        stream.isWhole = true
        guard stream.stage == .reading else { return }
        let body = stream.body
        release(stream)
        guard
            let request = ServedRequest(
                method: stream.method, target: stream.target, headers: stream.headers, body: body)
        else { return refuse(.malformed("the target is not a path of this server"), stream) }
        stream.headers = []
        stream.stage = .waiting
        stream.since = owner.now
        owner.serve(request, stream: id)
    }

    fileprivate func closed(_ id: Int32) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        if stream.unconsumed > 0 { nghttp2_session_consume_connection(session, stream.unconsumed) }
    }

    /// The last byte of an answer has left; who still sends a request that was refused is told to stop.
    fileprivate func answered(_ id: Int32) {
        guard let stream = streams[id], stream.isCutShort, !stream.isWhole else { return }
        nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, NGHTTP2_NO_ERROR.rawValue)
    }

    private func release(_ stream: Stream) {
        stream.body = []
        giveBack(stream.unconsumed, stream.id)
        stream.unconsumed = 0
    }

    /// Opens the windows again.
    private func giveBack(_ count: Int, _ id: Int32) {
        if count > 0 { nghttp2_session_consume(session, id, count) }
    }

    // SAFETY: the context is this object, which outlives its session.
    private static func from(_ context: UnsafeMutableRawPointer) -> HTTP2ListenerSession {
        Unmanaged<HTTP2ListenerSession>.fromOpaque(context).takeUnretainedValue()
    }

    private static func install(_ callbacks: OpaquePointer) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
            guard let frame, let context, frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
            HTTP2ListenerSession.from(context).begin(frame.pointee.hd.stream_id)
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameCount, value, valueCount, _, context in
            guard let frame, let context else { return 0 }
            HTTP2ListenerSession.from(context).take(
                frame.pointee.hd.stream_id,
                name: String(decoding: UnsafeBufferPointer(start: name, count: nameCount), as: UTF8.self),
                value: String(decoding: UnsafeBufferPointer(start: value, count: valueCount), as: UTF8.self),
                isTrailer: frame.pointee.headers.cat != NGHTTP2_HCAT_REQUEST)
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, data, count, context in
            guard let context else { return 0 }
            HTTP2ListenerSession.from(context).take(id, UnsafeBufferPointer(start: data, count: count))
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
            guard let frame, let context else { return 0 }
            let type = UInt32(frame.pointee.hd.type)
            let isRequest = type == NGHTTP2_HEADERS.rawValue || type == NGHTTP2_DATA.rawValue
            if isRequest, frame.pointee.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
                HTTP2ListenerSession.from(context).finish(frame.pointee.hd.stream_id)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
            guard let frame, let context else { return 0 }
            let type = UInt32(frame.pointee.hd.type)
            let isAnswer = type == NGHTTP2_HEADERS.rawValue || type == NGHTTP2_DATA.rawValue
            if isAnswer, frame.pointee.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
                HTTP2ListenerSession.from(context).answered(frame.pointee.hd.stream_id)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, _, context in
            guard let context else { return 0 }
            HTTP2ListenerSession.from(context).closed(id)
            return 0
        }
    }

    /// One request and its answer.
    fileprivate final class Stream {
        /// `streaming`: answered with a body that goes on.
        enum Stage { case reading, waiting, streaming, answered }

        let id: Int32
        var since: Int64
        var stage = Stage.reading
        var method = ""
        var target = ""
        var headers: [HTTPResponse.Header] = []
        var headBytes = 0
        var fields = 0
        var body: [UInt8] = []
        /// Bytes for which the windows are still closed.
        var unconsumed = 0
        /// The client has ended its side.
        var isWhole = false
        var isCutShort = false
        var output: [UInt8] = []
        var sent = 0
        /// An answer has not left as a whole.
        var hasUnsent: Bool { stage == .answered || stage == .streaming && sent < output.count }

        init(id: Int32, since: Int64) {
            self.id = id
            self.since = since
        }
    }
}

// SAFETY: the source is a stream that its session keeps until nghttp2 has closed it.
private func readListenerBody(
    _: OpaquePointer?, _: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ capacity: Int,
    _ flags: UnsafeMutablePointer<UInt32>?, _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _: UnsafeMutableRawPointer?
) -> Int {
    guard let pointer = source?.pointee.ptr, let buffer else { return 0 }
    let stream = Unmanaged<HTTP2ListenerSession.Stream>.fromOpaque(pointer).takeUnretainedValue()
    let count = min(capacity, stream.output.count - stream.sent)
    if count == 0, stream.stage == .streaming { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
    stream.output.withUnsafeBufferPointer { bytes in
        guard let base = bytes.baseAddress else { return }
        buffer.update(from: base + stream.sent, count: count)
    }
    stream.sent += count
    let isLast = stream.sent == stream.output.count && stream.stage == .answered
    if isLast { flags?.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
    return count
}
