// SPDX-License-Identifier: MIT

internal import CNGHTTP2
internal import PushWakeCore

/// The client's end of an HTTP/2 connection, without I/O (RFC 9113).
///
/// Contract: `receive` what has come, then take `takeEnded()` and the flags; after any call, `gather` until it gives
/// nothing. Never hands nghttp2 more streams than the peer allows: the caller asks `freeStreams` first.
final class HTTP2ClientSession {
    /// The server's GOAWAY.
    struct GoAway: Equatable {
        let lastStream: Int32
        let code: UInt32
        /// At most 1 kB.
        let debugData: [UInt8]
    }

    private var session: OpaquePointer
    private let memory = HTTP2Memory()
    private var output = HTTP2Output()
    private let limits: HTTPAnswerLimits
    private let keptNames: [[UInt8]]?
    /// The next answer keeps its Date although nobody named it: once in a while the owner asks for one.
    var wantsDate = true
    private let streamCap: Int
    private var ended: [HTTPExchange] = []
    private var fields: [nghttp2_nv] = []
    /// What stands in `fields`: those of a header block, and of a request so many, of which the pseudo fields begin here.
    private var layout: (headerBlock: HTTPHeaderBlock?, start: Int, pseudo: Int, own: Int) = (nil, 0, 0, 0)
    /// The request that is being written, and room for bodies until they have been sent: with many streams open,
    /// memory that is warm is worth more than the work.
    private var request = HTTPRequest()
    private var spareBodies: [[UInt8]] = []
    /// The head of the last request: most often the next one's too.
    private var latestHeaderBlock: RepeatedHeaderBlock?
    /// Where the bytes that are gathered now will lie in the connection's output.
    private var gatherPosition: UInt64 = 0

    /// Streams that have been submitted and have not ended.
    private(set) var open: [HTTPExchange] = []
    /// Streams that the peer allows at a time; 1 until it has said so.
    private(set) var peerLimit = 1
    private(set) var goAway: GoAway?
    private var hasPong = false
    /// Bytes of bodies that belong to open streams.
    private(set) var bodyBytes: UInt64 = 0
    /// No stream id is left, or the peer wants no more streams.
    private(set) var isExhausted = false
    /// nghttp2 has given up; nothing more may be fed to it.
    private var isBroken = false

    init(limits: HTTPAnswerLimits, streamCap: Int) throws(TLSError) {
        self.limits = limits
        self.streamCap = streamCap
        keptNames = limits.keptHeaders?.map { Array($0.utf8) }
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
        nghttp2_option_set_peer_max_concurrent_streams(option, 100)
        nghttp2_option_set_max_deflate_dynamic_table_size(option, 4096)
        var made: OpaquePointer?
        guard nghttp2_session_client_new3(&made, callbacks, nil, option, memory.interface) == 0, let made else {
            throw TLSError("no memory for an HTTP/2 session")
        }
        session = made
        nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
        fields.reserveCapacity(24)
        let settings = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: 65_536),
        ]
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
    }

    deinit {
        nghttp2_session_del(session)
    }

    /// How many streams may be submitted now.
    var freeStreams: Int {
        guard goAway == nil, !isExhausted else { return 0 }
        return max(0, min(peerLimit, streamCap) - open.count)
    }

    /// Opens a stream and returns the bytes that its request has for itself, before compression; 0 when no more can
    /// be opened, and then nothing has happened.
    func submit(_ exchange: HTTPExchange, now: Int64) throws(PushFailure) -> Int {
        request.removeAll()
        try exchange.write(into: &request)
        exchange.reset()
        exchange.submittedAt = now
        let count = request.storage.count + request.body.count
        // Nghttp2's pointer keeps nothing alive: `open` does, until the stream is closed.
        let streamID = submit(&request, Unmanaged.passUnretained(exchange).toOpaque())
        guard streamID > 0 else {
            isExhausted = true
            return 0
        }
        exchange.headerBlock = request.headerBlock == nil ? nil : latestHeaderBlock
        swap(&exchange.body, &request.body)
        if var spare = spareBodies.popLast() { swap(&request.body, &spare) }
        exchange.streamID = streamID
        exchange.index = open.count
        open.append(exchange)
        return count
    }

    /// The body has been sent or is not wanted any more: another request may have its room.
    private func reclaimBody(of exchange: HTTPExchange) {
        guard exchange.body.capacity > 0 else { return }
        var body: [UInt8] = []
        swap(&body, &exchange.body)
        reclaim(body)
    }

    private func reclaim(_ body: consuming [UInt8]) {
        guard spareBodies.count < 256, body.capacity <= 8192 else { return }
        // Emptied when another request takes it.
        spareBodies.append(body)
    }

    /// nghttp2 copies the request's own names and values, so that these pointers need to live only for the call. `inout`
    /// because nobody else can change it then: no reference to its arrays is counted.
    private func submit(_ request: inout HTTPRequest, _ user: UnsafeMutableRawPointer) -> Int32 {
        request.storage.withUnsafeBufferPointer { storage in
            guard let base = storage.baseAddress else { return -1 }
            collect(request, base)
            if request.body.isEmpty {
                return nghttp2_submit_request(session, nil, fields, fields.count, nil, user)
            }
            var provider = nghttp2_data_provider(
                source: nghttp2_data_source(ptr: user), read_callback: clientReadBody)
            return nghttp2_submit_request(session, nil, fields, fields.count, &provider, user)
        }
    }

    /// Puts the fields in order: the header block's stay where they are from one request to the next, and the request's own
    /// take the places of the last one's.
    private func collect(_ request: HTTPRequest, _ base: UnsafePointer<UInt8>) {
        let own = request.fields.count
        var pseudo = 0
        for index in 0..<own where base[Int(request.fields[index].nameStart)] == UInt8(ascii: ":") { pseudo += 1 }
        if layout.headerBlock !== request.headerBlock || layout.pseudo != pseudo || layout.own != own || fields.isEmpty
        {
            arrange(request.headerBlock, pseudo: pseudo, own: own)
        }
        fields.withUnsafeMutableBufferPointer { fields in
            var (next, nextPseudo) = (fields.count - (own - pseudo), layout.start)
            for index in 0..<own {
                let pair = nghttp2_nv(request.fields[index], in: base)
                if pair.isPseudo {
                    fields[nextPseudo] = pair
                    nextPseudo += 1
                } else {
                    fields[next] = pair
                    next += 1
                }
            }
        }
    }

    /// Makes places for the fields of another header block, at addresses that last, and for another number of own ones.
    private func arrange(_ headerBlock: HTTPHeaderBlock?, pseudo: Int, own: Int) {
        if let headerBlock, latestHeaderBlock?.headerBlock !== headerBlock {
            latestHeaderBlock = RepeatedHeaderBlock(headerBlock)
        }
        let lasting = headerBlock == nil ? nil : latestHeaderBlock
        let (first, others) = (lasting?.pseudoFields ?? [], lasting?.fields ?? [])
        let (none, rest) = (nghttp2_nv(), own - pseudo)
        fields = first + Array(repeating: none, count: pseudo) + others + Array(repeating: none, count: rest)
        layout = (headerBlock, first.count, pseudo, own)
    }

    /// Ends a stream without waiting for its answer; it comes up in `takeEnded()`, as broken for this reason.
    func cancel(_ exchange: HTTPExchange, _ reason: String) {
        exchange.cancelReason = reason
        nghttp2_submit_rst_stream(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), exchange.streamID, NGHTTP2_CANCEL.rawValue)
    }

    /// Asks for a sign of life; see `takePong()`.
    func ping() { nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil) }

    /// Whether a PING has come back since the last call.
    func takePong() -> Bool {
        defer { hasPong = false }
        return hasPong
    }

    /// Says goodbye, once: GOAWAY with NO_ERROR, or with ENHANCE_YOUR_CALM to a server that sent too much.
    func terminate(sentTooMuch: Bool = false) {
        let code = sentTooMuch ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_NO_ERROR
        nghttp2_session_terminate_session(session, code.rawValue)
    }

    /// Takes bytes from the peer; false when it broke the protocol.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !isBroken else { return false }
        let count = nghttp2_session_mem_recv(session, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
        isBroken = count != bytes.count
        return !isBroken
    }

    /// Fills the buffer with frames that will lie at `position` of the connection's output; nil when broken.
    func gather(into buffer: UnsafeMutableRawBufferPointer, position: UInt64) -> Int? {
        gatherPosition = position
        let count = output.gather(session, into: buffer)
        if count == nil { isBroken = true }
        return count
    }

    /// Neither side has anything more to say.
    var isOver: Bool { nghttp2_session_want_read(session) == 0 && !output.isWanted(session) }

    /// Exchanges that have ended since the last call, each with its `end`.
    func takeEnded() -> [HTTPExchange] {
        guard !ended.isEmpty else { return [] }
        let taken = ended
        ended = []
        ended.reserveCapacity(taken.count)
        return taken
    }

    /// The connection is gone: ends all streams. `sent` is how much of the output may have been read.
    func connectionLost(_ reason: String, sent: UInt64) {
        for exchange in open {
            // It may have been answered before its body had left.
            exchange.end =
                exchange.isAnswerComplete
                ? .answered : exchange.position >= sent || exchange.isBodyUnsent ? .notProcessed : .broken(reason)
            reclaimBody(of: exchange)
            ended.append(exchange)
        }
        open.removeAll()
    }

    // MARK: From nghttp2

    fileprivate func willSend(_ frame: UnsafePointer<nghttp2_frame>) {
        guard frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue) else { return }
        withExchange(frame.pointee.hd.stream_id) { $0.position = gatherPosition }
    }

    fileprivate func received(_ frame: UnsafePointer<nghttp2_frame>) {
        let header = frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            guard header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 else { return }
            withExchange(header.stream_id) {
                $0.isAnswerComplete = true
                // The server has its answer and reads no further: the stream would stay open for the rest.
                if $0.isBodyUnsent {
                    nghttp2_submit_rst_stream(
                        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), header.stream_id, NGHTTP2_CANCEL.rawValue)
                }
            }
        case NGHTTP2_SETTINGS.rawValue:
            guard header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 else { return }
            let limit = nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
            peerLimit = Int(min(limit, 1 << 20))
        case NGHTTP2_PING.rawValue:
            if header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 { hasPong = true }
        case NGHTTP2_GOAWAY.rawValue:
            let body = frame.pointee.goaway
            let data = UnsafeBufferPointer(start: body.opaque_data, count: min(body.opaque_data_len, 1024))
            goAway = GoAway(lastStream: body.last_stream_id, code: body.error_code, debugData: Array(data))
        default: return
        }
    }

    /// Names of no interest are dropped before their stream is looked up.
    fileprivate func keeps(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let keptNames, name.first != UInt8(ascii: ":") else { return true }
        if wantsDate, name.count == 4, name.elementsEqual("date".utf8) {
            wantsDate = false
            return true
        }
        for kept in keptNames where kept.count == name.count {
            if kept.elementsEqual(name) { return true }
        }
        return false
    }

    /// False when the answer is none: no status begins with 0 (RFC 9110, 15), and nghttp2 checks only for three digits.
    fileprivate func received(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, on exchange: HTTPExchange
    ) -> Bool {
        if name.first == UInt8(ascii: ":") {
            guard value.count == 3, value.first != UInt8(ascii: "0") else { return false }
            // A final answer after an informational one starts afresh (RFC 9110, 15.2).
            if exchange.response.status != 0 { exchange.response.headers.removeAll() }
            exchange.response.status = value.reduce(0) { $0 * 10 + Int($1 &- 0x30) }
            return true
        }
        exchange.headerBytes += name.count + value.count
        guard exchange.headerBytes <= limits.headerBytes else { return true }
        exchange.response.headers.append(
            HTTPResponse.Header(
                name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self)))
        return true
    }

    fileprivate func received(body bytes: UnsafeBufferPointer<UInt8>, on exchange: HTTPExchange) {
        bodyBytes &+= UInt64(bytes.count)
        let room = limits.bodyBytes - exchange.response.body.count
        if room > 0 { exchange.response.body.append(contentsOf: bytes.prefix(room)) }
    }

    /// Copies the next piece of a body; true with the last one.
    fileprivate func sendBody(of exchange: HTTPExchange, into buffer: UnsafeMutableBufferPointer<UInt8>) -> (Int, Bool)
    {
        // As `submit` takes the request.
        var body: [UInt8] = []
        swap(&body, &exchange.body)
        let count = min(buffer.count, body.count - exchange.bodyOffset)
        body.withUnsafeBufferPointer { body in
            guard let source = body.baseAddress, let target = buffer.baseAddress else { return }
            target.update(from: source + exchange.bodyOffset, count: count)
        }
        exchange.bodyOffset += count
        if exchange.bodyOffset < body.count {
            swap(&body, &exchange.body)
            return (count, false)
        }
        reclaim(body)
        return (count, true)
    }

    fileprivate func closed(_ exchange: HTTPExchange, code: UInt32) {
        defer { reclaimBody(of: exchange) }
        if exchange.isAnswerComplete {
            exchange.end = .answered
        } else if exchange.position == .max || exchange.isBodyUnsent
            // Who has begun an answer has processed the request, whatever it says then.
            || code == NGHTTP2_REFUSED_STREAM.rawValue && exchange.response.status == 0
        {
            exchange.end = .notProcessed
        } else {
            let reason = exchange.cancelReason ?? "stream ended: \(String(cString: nghttp2_http2_strerror(code)))"
            exchange.end = .broken(reason)
        }
        let (index, last) = (exchange.index, open.count - 1)
        guard index >= 0, index <= last, open[index] === exchange else { return ended.append(exchange) }
        if index < last {
            // Through a pointer, elements change places and no reference is counted.
            open.withUnsafeMutableBufferPointer { open in
                open.swapAt(index, last)
                open[index].index = index
            }
        }
        ended.append(open.removeLast())
    }

    /// What was submitted as this stream, for a moment: no reference is counted, since `open` has one.
    fileprivate func withExchange(_ streamID: Int32, _ body: (HTTPExchange) -> Void) {
        guard let pointer = nghttp2_session_get_stream_user_data(session, streamID) else { return }
        Unmanaged<HTTPExchange>.fromOpaque(pointer)._withUnsafeGuaranteedRef { body($0) }
    }

    private static func install(_ callbacks: OpaquePointer) {
        nghttp2_session_callbacks_set_before_frame_send_callback(callbacks) { _, frame, user in
            guard let frame, let user else { return 0 }
            recover(user) { $0.willSend(frame) }
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
            guard let frame, let user else { return 0 }
            recover(user) { $0.received(frame) }
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameCount, value, valueCount, _, user in
            guard let frame, let user else { return 0 }
            let name = UnsafeBufferPointer(start: name, count: nameCount)
            let value = UnsafeBufferPointer(start: value, count: valueCount)
            var isGood = true
            recover(user) { session in
                guard session.keeps(name) else { return }
                session.withExchange(frame.pointee.hd.stream_id) { isGood = session.received(name, value, on: $0) }
            }
            return isGood ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, streamID, data, count, user in
            guard let user else { return 0 }
            recover(user) { session in
                session.withExchange(streamID) {
                    session.received(body: UnsafeBufferPointer(start: data, count: count), on: $0)
                }
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, streamID, code, user in
            guard let user else { return 0 }
            recover(user) { session in session.withExchange(streamID) { session.closed($0, code: code) } }
            return 0
        }
    }
}

/// The session that nghttp2's callbacks carry; it lives as long as nghttp2's, which it owns.
private func recover(_ user: UnsafeMutableRawPointer, _ body: (HTTP2ClientSession) -> Void) {
    Unmanaged<HTTP2ClientSession>.fromOpaque(user)._withUnsafeGuaranteedRef { body($0) }
}

/// Called by nghttp2 for the next piece of a request's body; the open stream keeps the exchange alive.
private func clientReadBody(
    _ session: OpaquePointer?, _ streamID: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ size: Int,
    _ flags: UnsafeMutablePointer<UInt32>?, _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ user: UnsafeMutableRawPointer?
) -> Int {
    guard let buffer, let flags, let pointer = source?.pointee.ptr, let user else {
        return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
    return Unmanaged<HTTPExchange>.fromOpaque(pointer)._withUnsafeGuaranteedRef { exchange in
        Unmanaged<HTTP2ClientSession>.fromOpaque(user)._withUnsafeGuaranteedRef { session in
            let piece = session.sendBody(of: exchange, into: UnsafeMutableBufferPointer(start: buffer, count: size))
            if piece.1 { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            return piece.0
        }
    }
}
