// SPDX-License-Identifier: MIT

internal import CNGHTTP2

/// Gathers the frames that nghttp2 wants to send into pieces of one TLS record.
///
/// nghttp2 gives one frame at a time; a record per frame costs ten times the CPU of a full record.
struct HTTP2Output {
    /// The rest of a frame that did not fit; valid until the next `mem_send`.
    private var rest = UnsafeRawBufferPointer(start: nil, count: 0)

    /// Fills the buffer as far as there are frames; 0 when there are none, nil when the session is broken.
    mutating func gather(_ session: OpaquePointer, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        var used = 0
        while true {
            if rest.count == 0 {
                var start: UnsafePointer<UInt8>?
                let count = nghttp2_session_mem_send(session, &start)
                if count < 0 { return nil }
                if count == 0 { return used }
                rest = UnsafeRawBufferPointer(start: start, count: count)
            }
            let count = min(rest.count, buffer.count - used)
            UnsafeMutableRawBufferPointer(rebasing: buffer[used..<used + count])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: rest[..<count]))
            used += count
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            if used == buffer.count { return used }
        }
    }

    /// Whether nghttp2 has something to send, now that flow control allows.
    func isWanted(_ session: OpaquePointer) -> Bool {
        rest.count > 0 || nghttp2_session_want_write(session) != 0
    }
}
