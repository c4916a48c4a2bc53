// SPDX-License-Identifier: MIT

internal import CNGHTTP2

/// The server's side of one HTTP/2 connection, on nghttp2.
///
/// It is not the HTTP/2 code that the sender uses: a peer that shares no code with it tells its
/// mistakes, and the faults need frames that an honest server never sends. The sender's own tests have it as their server.
final class HTTP2Conversation: Conversation {
    private var session: OpaquePointer?
    private unowned let validator: any RequestValidator
    private var streams: [ServedStream] = []
    private var free: [Int] = []
    /// Streams above this are not processed, because a GOAWAY said so.
    private var lastAllowed = Int32.max
    private var highest: Int32 = 0
    /// A graceful end is under way: the GOAWAY that names the last stream is still to come.
    private var isBeforeLastGoAway = false
    private var rest: UnsafePointer<UInt8>?
    private var restCount = 0
    private var scratch: [UInt8] = []
    private var pings = 0

    /// Begins with SETTINGS; nil when memory is short.
    init?(validator: any RequestValidator, maxStreams: UInt32) {
        self.validator = validator
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        defer { nghttp2_session_callbacks_del(callbacks) }
        Self.register(callbacks)
        var option: OpaquePointer?
        guard nghttp2_option_new(&option) == 0 else { return nil }
        defer { nghttp2_option_del(option) }
        // Debian's libcurl resets every stream whose answer has no body; that must not end the connection.
        nghttp2_option_set_stream_reset_rate_limit(option, 1 << 40, 1 << 40)
        let context = Unmanaged.passUnretained(self).toOpaque()
        guard nghttp2_session_server_new2(&session, callbacks, context, option) == 0 else { return nil }
        submit([
            .init(id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: maxStreams),
            .init(id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: 16_384),
        ])
        nghttp2_session_set_local_window_size(session, 0, 0, 1 << 24)
    }

    deinit { nghttp2_session_del(session) }

    var isFinished: Bool {
        restCount == 0 && !isBeforeLastGoAway && nghttp2_session_want_read(session) == 0
            && nghttp2_session_want_write(session) == 0
    }

    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.bindMemory(to: UInt8.self).baseAddress else { return true }
        return nghttp2_session_mem_recv(session, base, bytes.count) >= 0
    }

    /// Copies frames until the buffer is full, so that many answers share one TLS record.
    func gather(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let base = buffer.baseAddress else { return 0 }
        var count = 0
        while count < buffer.count {
            if restCount == 0 {
                restCount = max(0, nghttp2_session_mem_send(session, &rest))
                if restCount == 0 { break }
            }
            guard let from = rest else { break }
            let part = min(restCount, buffer.count - count)
            (base + count).copyMemory(from: from, byteCount: part)
            count += part
            rest = from + part
            restCount -= part
        }
        return count
    }

    func perform(_ effect: FaultRule.Effect) {
        guard case .goAway(let code, let debug, let last) = effect else { return }
        validator.count { $0.goAwaysSent += 1 }
        switch last {
        case .processed: goAway(code, debug, highest)
        case .none: goAway(code, debug, 0)
        case .stream(let last): goAway(code, debug, last)
        case .all:
            goAway(code, debug, Int32.max)
            isBeforeLastGoAway = true
            validator.later(1_000) { [weak self] in
                guard let self else { return }
                isBeforeLastGoAway = false
                lastAllowed = highest
                goAway(code, debug, highest)
            }
        }
    }

    private func goAway(_ code: UInt32, _ debug: String, _ last: Int32) {
        let bytes = Array(debug.utf8)
        nghttp2_submit_goaway(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, code, bytes, bytes.count)
    }

    private func submit(_ settings: [FaultRule.Setting]) {
        let entries = settings.map { nghttp2_settings_entry(settings_id: $0.id, value: $0.value) }
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
    }

    // MARK: Requests

    fileprivate func begin(_ id: Int32) {
        let index: Int
        if let last = free.popLast() {
            index = last
        } else {
            index = streams.count
            streams.append(ServedStream())
        }
        streams[index].id = id
        nghttp2_session_set_stream_user_data(session, id, UnsafeMutableRawPointer(bitPattern: index &+ 1))
    }

    @inline(__always)
    fileprivate func stream(_ id: Int32) -> ServedStream? {
        let index = Int(bitPattern: nghttp2_session_get_stream_user_data(session, id)) &- 1
        return index >= 0 && index < streams.count ? streams[index] : nil
    }

    fileprivate func end(_ id: Int32) {
        let index = Int(bitPattern: nghttp2_session_get_stream_user_data(session, id)) &- 1
        guard index >= 0, index < streams.count else { return }
        let stream = streams[index]
        stream.id = 0
        stream.request.reset()
        stream.body = []
        stream.sent = 0
        free.append(index)
    }

    fileprivate func process(_ id: Int32) {
        guard id <= lastAllowed, let stream = stream(id) else { return }
        pings = 0
        highest = max(highest, id)
        let reaction = validator.validate(stream.request, stream: id)
        let isLate = reaction.delay > 0
        for effect in reaction.effects where !(isLate && effect.isClose) { begin(effect, stream: id) }
        guard isLate else { return answer(reaction, stream) }
        validator.later(reaction.delay) { [weak self] in
            // The stream may be gone and its place taken by another one.
            guard let self, stream.id == id else { return }
            answer(reaction, stream)
            for effect in reaction.effects where effect.isClose { begin(effect, stream: id) }
        }
    }

    func begin(_ effect: FaultRule.Effect, stream id: Int32) {
        switch effect {
        case .settings(let settings):
            validator.count { $0.settingsSent += 1 }
            submit(settings)
        case .reset(let code):
            validator.count { $0.resetsSent += 1 }
            nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, code)
        case .goAway(_, _, let last):
            switch last {
            case .processed: lastAllowed = min(lastAllowed, highest)
            case .none: lastAllowed = 0
            case .stream(let last): lastAllowed = min(lastAllowed, last)
            case .all: break
            }
            validator.postpone(effect)
        case .close:
            lastAllowed = 0
            validator.postpone(effect)
        case .pauseReading: validator.postpone(effect)
        }
    }

    var openStreams: Int { streams.count - free.count }

    func answer(_ reaction: Reaction, stream id: Int32) {
        if let stream = stream(id) { answer(reaction, stream) }
    }

    private func answer(_ reaction: Reaction, _ stream: ServedStream) {
        guard let answer = reaction.answer, let session else { return }
        stream.body = answer.body
        validator.answerLeaves(reaction)
        var provider = nghttp2_data_provider()
        provider.source.ptr = Unmanaged.passUnretained(stream).toOpaque()
        provider.read_callback = readBody
        let hasBody = !answer.body.isEmpty
        withFields(of: answer) { fields, count in
            if hasBody {
                _ = nghttp2_submit_response(session, stream.id, fields, count, &provider)
            } else {
                _ = nghttp2_submit_response(session, stream.id, fields, count, nil)
            }
        }
    }

    /// Lays out the header block: all bytes in one buffer first, because pointers into it must not move.
    private func withFields(of answer: ProviderAnswer, _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Void) {
        scratch.removeAll(keepingCapacity: true)
        scratch.append(contentsOf: ":status".utf8)
        scratch.append(UInt8(truncatingIfNeeded: 0x30 + answer.status / 100 % 10))
        scratch.append(UInt8(truncatingIfNeeded: 0x30 + answer.status / 10 % 10))
        scratch.append(UInt8(truncatingIfNeeded: 0x30 + answer.status % 10))
        for header in answer.headers {
            scratch.append(contentsOf: header.name.utf8)
            scratch.append(contentsOf: header.value)
        }
        let count = answer.headers.count + 1
        scratch.withUnsafeMutableBufferPointer { bytes in
            withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: count) { fields in
                guard var at = bytes.baseAddress else { return }
                fields.initializeElement(at: 0, to: Self.field(&at, name: 7, value: 3))
                for (index, header) in answer.headers.enumerated() {
                    let field = Self.field(&at, name: header.name.utf8.count, value: header.value.count)
                    fields.initializeElement(at: index + 1, to: field)
                }
                body(UnsafePointer(fields.baseAddress), count)
            }
        }
    }

    private static func field(_ at: inout UnsafeMutablePointer<UInt8>, name: Int, value: Int) -> nghttp2_nv {
        let field = nghttp2_nv(name: at, value: at + name, namelen: name, valuelen: value, flags: 0)
        at += name + value
        return field
    }

    // MARK: Frames

    fileprivate func received(_ frame: nghttp2_frame) {
        switch nghttp2_frame_type(UInt32(frame.hd.type)) {
        case NGHTTP2_HEADERS, NGHTTP2_DATA:
            if frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 { process(frame.hd.stream_id) }
        case NGHTTP2_RST_STREAM: validator.count { $0.resetsReceived += 1 }
        case NGHTTP2_GOAWAY: validator.count { $0.goAwaysReceived += 1 }
        case NGHTTP2_PING where frame.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0:
            validator.count { $0.pingsReceived += 1 }
            pings += 1
            // FCM's front end allows two pings without a request between them.
            if pings == 3, validator.isFCM {
                validator.postpone(
                    .goAway(code: NGHTTP2_ENHANCE_YOUR_CALM.rawValue, debug: "too_many_pings", last: .processed))
            }
        default: break
        }
    }

    private static func register(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
            guard let frame, let context, frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue),
                frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
            else { return 0 }
            HTTP2Conversation.from(context).begin(frame.pointee.hd.stream_id)
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameCount, value, valueCount, _, context in
            guard let frame, let context else { return 0 }
            HTTP2Conversation.from(context).stream(frame.pointee.hd.stream_id)?.request.append(
                name: UnsafeBufferPointer(start: name, count: nameCount),
                value: UnsafeBufferPointer(start: value, count: valueCount))
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, data, count, context in
            guard let context else { return 0 }
            HTTP2Conversation.from(context).stream(id)?.request.append(
                body: UnsafeBufferPointer(start: data, count: count))
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
            guard let frame, let context else { return 0 }
            HTTP2Conversation.from(context).received(frame.pointee)
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, _, context in
            guard let context else { return 0 }
            HTTP2Conversation.from(context).end(id)
            return 0
        }
    }

    // SAFETY: the context is this object, which outlives its session.
    private static func from(_ context: UnsafeMutableRawPointer) -> HTTP2Conversation {
        Unmanaged<HTTP2Conversation>.fromOpaque(context).takeUnretainedValue()
    }
}

// SAFETY: the source is a stream that its conversation keeps for as long as the session lives.
private func readBody(
    _: OpaquePointer?, _: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ capacity: Int,
    _ flags: UnsafeMutablePointer<UInt32>?, _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _: UnsafeMutableRawPointer?
) -> Int {
    guard let pointer = source?.pointee.ptr, let buffer else { return 0 }
    let stream = Unmanaged<ServedStream>.fromOpaque(pointer).takeUnretainedValue()
    let count = min(capacity, stream.body.count - stream.sent)
    stream.body.withUnsafeBufferPointer { bytes in
        guard let base = bytes.baseAddress else { return }
        buffer.update(from: base + stream.sent, count: count)
    }
    stream.sent += count
    if stream.sent == stream.body.count { flags?.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
    return count
}
