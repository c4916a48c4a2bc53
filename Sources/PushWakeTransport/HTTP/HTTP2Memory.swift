// SPDX-License-Identifier: MIT

internal import CLinux
internal import CNGHTTP2

/// The memory of one HTTP/2 session: small blocks go back to a list of their size and not to the C library.
///
/// nghttp2 takes and returns six blocks per stream, of the same few sizes each time. With a thousand streams open
/// the C library's own caches are too short for that, and every block costs a search. The lists hold no more
/// than was in use at once, and end with the session.
final class HTTP2Memory {
    /// Before each block: its class (0 when it belongs to no list) and its size. Sixteen bytes keep blocks aligned.
    private struct Header {
        var sizeClass: Int
        var size: Int
    }

    private typealias Lists = UnsafeMutablePointer<UnsafeMutableRawPointer?>

    /// Blocks of up to 1 kB, in steps of 16 bytes.
    private static let classes = 65

    private let lists: Lists
    /// For `nghttp2_session_client_new3`; valid as long as this lives.
    let interface: UnsafeMutablePointer<nghttp2_mem>

    init() {
        lists = .allocate(capacity: Self.classes)
        lists.initialize(repeating: nil, count: Self.classes)
        interface = .allocate(capacity: 1)
        interface.initialize(
            to: nghttp2_mem(
                mem_user_data: lists,
                malloc: { size, lists in HTTP2Memory.take(size, lists) },
                free: { block, lists in HTTP2Memory.giveBack(block, lists) },
                calloc: { count, size, lists in
                    let (total, overflow) = count.multipliedReportingOverflow(by: size)
                    guard !overflow, let block = HTTP2Memory.take(total, lists) else { return nil }
                    return memset(block, 0, total)
                },
                realloc: { block, size, lists in HTTP2Memory.resize(block, size, lists) }))
    }

    deinit {
        for sizeClass in 0..<Self.classes {
            while let block = lists[sizeClass] {
                lists[sizeClass] = block.load(as: UnsafeMutableRawPointer?.self)
                free(block - MemoryLayout<Header>.size)
            }
        }
        lists.deallocate()
        interface.deallocate()
    }

    private static func take(_ size: Int, _ user: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let user, size >= 0, size <= Int.max - 64 else { return nil }
        let sizeClass = max(1, (size + 15) >> 4)
        guard sizeClass < classes else { return allocate(size, sizeClass: 0) }
        let list = user.assumingMemoryBound(to: UnsafeMutableRawPointer?.self) + sizeClass
        guard let block = list.pointee else { return allocate(sizeClass << 4, sizeClass: sizeClass) }
        list.pointee = block.load(as: UnsafeMutableRawPointer?.self)
        return block
    }

    private static func allocate(_ size: Int, sizeClass: Int) -> UnsafeMutableRawPointer? {
        guard let base = malloc(size + MemoryLayout<Header>.size) else { return nil }
        base.storeBytes(of: Header(sizeClass: sizeClass, size: size), as: Header.self)
        return base + MemoryLayout<Header>.size
    }

    private static func giveBack(_ block: UnsafeMutableRawPointer?, _ user: UnsafeMutableRawPointer?) {
        guard let block, let user else { return }
        let base = block - MemoryLayout<Header>.size
        let sizeClass = base.load(as: Header.self).sizeClass
        guard sizeClass > 0 else { return free(base) }
        let list = user.assumingMemoryBound(to: UnsafeMutableRawPointer?.self) + sizeClass
        block.storeBytes(of: list.pointee, as: UnsafeMutableRawPointer?.self)
        list.pointee = block
    }

    private static func resize(
        _ block: UnsafeMutableRawPointer?, _ size: Int, _ user: UnsafeMutableRawPointer?
    ) -> UnsafeMutableRawPointer? {
        guard let block else { return take(size, user) }
        let old = (block - MemoryLayout<Header>.size).load(as: Header.self)
        if old.sizeClass > 0, size <= old.size { return block }
        guard let larger = take(size, user) else { return nil }
        memcpy(larger, block, min(size, old.size))
        giveBack(block, user)
        return larger
    }
}

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
