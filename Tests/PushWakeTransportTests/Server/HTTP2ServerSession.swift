// SPDX-License-Identifier: MIT

import CNGHTTP2
import PushWakeCore

@testable import PushWakeTransport

/// The server's end of an HTTP/2 connection, without I/O. Same contract as the client's end.
final class HTTP2ServerSession {
    private final class Stream {
        var request: HTTPServerRequest
        var headerBytes = 0
        var answer: [UInt8] = []
        var answerOffset = 0

        init(_ id: Int32) { request = HTTPServerRequest(stream: id) }
    }

    private var session: OpaquePointer
    private var output = HTTP2Output()
    private let limits: HTTPServerLimits
    private var streams: [Int32: Stream] = [:]
    private var complete: [HTTPServerRequest] = []
    private var cancelled: [Int32] = []

    init(limits: HTTPServerLimits) throws(TLSError) {
        self.limits = limits
        var callbacks: OpaquePointer?
        var option: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0, nghttp2_option_new(&option) == 0, let callbacks else {
            throw TLSError("no memory for an HTTP/2 session")
        }
        defer {
            nghttp2_session_callbacks_del(callbacks)
            nghttp2_option_del(option)
        }
        Self.install(callbacks)
        nghttp2_option_set_no_closed_streams(option, 1)
        var made: OpaquePointer?
        guard nghttp2_session_server_new2(&made, callbacks, nil, option) == 0, let made else {
            throw TLSError("no memory for an HTTP/2 session")
        }
        session = made
        nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
        submitSettings(maxConcurrentStreams: limits.maxConcurrentStreams)
        // Many pushes at once need more than the 64 kB that a connection starts with.
        nghttp2_session_set_local_window_size(session, 0, 0, 16 << 20)
    }

    deinit { nghttp2_session_del(session) }

    /// Streams that have been begun and not ended.
    var openStreams: Int { streams.count }

    /// Announces another limit; the client obeys it from when it has read it.
    func submitSettings(maxConcurrentStreams limit: UInt32) {
        let entry = nghttp2_settings_entry(
            settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: limit)
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), [entry], 1)
    }

    /// Sends GOAWAY; streams above `lastStream` get no answer (the last one begun when nil).
    func goAway(code: UInt32, debugData: [UInt8], lastStream: Int32?) {
        let last = lastStream ?? nghttp2_session_get_last_proc_stream_id(session)
        nghttp2_submit_goaway(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, code, debugData, debugData.count)
    }

    /// Sends RST_STREAM; code 7 is REFUSED_STREAM.
    func reset(_ stream: Int32, code: UInt32) {
        nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code)
    }

    /// Answers a request; a stream that is gone is not an error.
    func respond(_ streamID: Int32, _ response: HTTPResponse) {
        guard let stream = streams[streamID] else { return }
        stream.answer = response.body
        var bytes: [UInt8] = Array(":status\(response.status)".utf8)
        var ends: [(name: Int, value: Int)] = [(7, bytes.count)]
        for header in response.headers {
            bytes.append(contentsOf: header.name.utf8)
            let middle = bytes.count
            bytes.append(contentsOf: header.value.utf8)
            ends.append((middle, bytes.count))
        }
        bytes.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            var start = 0
            var fields: [nghttp2_nv] = []
            for end in ends {
                fields.append(
                    nghttp2_nv(
                        name: base + start, value: base + end.name, namelen: end.name - start,
                        valuelen: end.value - end.name, flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
                start = end.value
            }
            submit(streamID, stream, fields)
        }
    }

    private func submit(_ streamID: Int32, _ stream: Stream, _ fields: [nghttp2_nv]) {
        guard !stream.answer.isEmpty else {
            nghttp2_submit_response(session, streamID, fields, fields.count, nil)
            return
        }
        var provider = nghttp2_data_provider(source: nghttp2_data_source(ptr: nil)) {
            _, streamID, buffer, size, flags, _, user in
            guard let buffer, let flags, let user else { return 0 }
            return Unmanaged<HTTP2ServerSession>.fromOpaque(user)._withUnsafeGuaranteedRef {
                $0.readAnswer(streamID, UnsafeMutableBufferPointer(start: buffer, count: size), flags)
            }
        }
        nghttp2_submit_response(session, streamID, fields, fields.count, &provider)
    }

    private func readAnswer(
        _ streamID: Int32, _ buffer: UnsafeMutableBufferPointer<UInt8>, _ flags: UnsafeMutablePointer<UInt32>
    ) -> Int {
        guard let stream = streams[streamID] else {
            flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
            return 0
        }
        let piece = stream.answer.dropFirst(stream.answerOffset).prefix(buffer.count)
        _ = buffer.update(fromContentsOf: piece)
        stream.answerOffset += piece.count
        if stream.answerOffset == stream.answer.count { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return piece.count
    }

    /// Takes bytes from the peer; false when it broke the protocol.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        nghttp2_session_mem_recv(session, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count) == bytes.count
    }

    /// Fills the buffer with frames; nil when broken.
    func gather(into buffer: UnsafeMutableRawBufferPointer) -> Int? { output.gather(session, into: buffer) }

    /// Neither side has anything more to say.
    var isOver: Bool { nghttp2_session_want_read(session) == 0 && !output.isWanted(session) }

    /// Requests that have become complete since the last call.
    func takeComplete() -> [HTTPServerRequest] {
        defer { complete = [] }
        return complete
    }

    /// Streams that the client gave up since the last call, before an answer.
    func takeCancelled() -> [Int32] {
        defer { cancelled = [] }
        return cancelled
    }

    // MARK: From nghttp2

    private func began(_ streamID: Int32) { streams[streamID] = Stream(streamID) }

    private func received(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, on id: Int32) {
        guard let stream = streams[id] else { return }
        stream.headerBytes += name.count + value.count
        guard stream.headerBytes <= limits.headerBytes else {
            stream.request.isTruncated = true
            return
        }
        stream.request.headers.append(
            HTTPResponse.Header(
                name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self)))
    }

    private func received(body bytes: UnsafeBufferPointer<UInt8>, on id: Int32) {
        guard let stream = streams[id] else { return }
        let room = limits.bodyBytes - stream.request.body.count
        if bytes.count > room { stream.request.isTruncated = true }
        if room > 0 { stream.request.body.append(contentsOf: bytes.prefix(room)) }
    }

    private func received(_ header: nghttp2_frame_hd) {
        let carriesRequest =
            header.type == UInt8(NGHTTP2_HEADERS.rawValue) || header.type == UInt8(NGHTTP2_DATA.rawValue)
        guard carriesRequest, header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0,
            let stream = streams[header.stream_id]
        else { return }
        complete.append(stream.request)
        stream.request = HTTPServerRequest(stream: header.stream_id)
    }

    private func closed(_ streamID: Int32, code: UInt32) {
        streams[streamID] = nil
        if code != NGHTTP2_NO_ERROR.rawValue { cancelled.append(streamID) }
    }

    private static func install(_ callbacks: OpaquePointer) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, user in
            guard let frame, let user else { return 0 }
            guard frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
            HTTP2ServerSession.recover(user) { $0.began(frame.pointee.hd.stream_id) }
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameCount, value, valueCount, _, user in
            guard let frame, let user else { return 0 }
            let name = UnsafeBufferPointer(start: name, count: nameCount)
            let value = UnsafeBufferPointer(start: value, count: valueCount)
            HTTP2ServerSession.recover(user) { $0.received(name, value, on: frame.pointee.hd.stream_id) }
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, streamID, data, count, user in
            guard let user else { return 0 }
            HTTP2ServerSession.recover(user) {
                $0.received(body: UnsafeBufferPointer(start: data, count: count), on: streamID)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
            guard let frame, let user else { return 0 }
            HTTP2ServerSession.recover(user) { $0.received(frame.pointee.hd) }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, streamID, code, user in
            guard let user else { return 0 }
            HTTP2ServerSession.recover(user) { $0.closed(streamID, code: code) }
            return 0
        }
    }

    /// The session that nghttp2's callbacks carry; it lives as long as nghttp2's, which it owns.
    private static func recover(_ user: UnsafeMutableRawPointer, _ body: (HTTP2ServerSession) -> Void) {
        Unmanaged<HTTP2ServerSession>.fromOpaque(user)._withUnsafeGuaranteedRef { body($0) }
    }
}
