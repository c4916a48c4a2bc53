// SPDX-License-Identifier: MIT

internal import CPushWake

extension pushwake_str {
    /// The bytes, borrowed from the caller for as long as the call lasts.
    var bytes: UnsafeBufferPointer<UInt8> {
        guard let ptr, len > 0 else { return UnsafeBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(start: ptr, count: len).assumingMemoryBound(to: UInt8.self)
    }

    /// A copy as text; broken UTF-8 is mended.
    var string: String { String(decoding: bytes, as: UTF8.self) }

    var isEmpty: Bool { ptr == nil || len == 0 }
}

/// Text that belongs to the library and stays where it is until the next call on its owner.
final class TextArena {
    private var blocks: [UnsafeMutableBufferPointer<UInt8>] = []

    deinit { clear() }

    /// Forgets what was kept.
    func clear() {
        guard !blocks.isEmpty else { return }
        for block in blocks { block.deallocate() }
        blocks.removeAll(keepingCapacity: true)
    }

    /// Keeps bytes, followed by a NUL that is not counted.
    func keep(_ bytes: some Collection<UInt8>) -> pushwake_str {
        guard !bytes.isEmpty else { return pushwake_str(ptr: nil, len: 0) }
        let count = bytes.count
        let block = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: count + 1)
        _ = block.initialize(from: bytes)
        block[count] = 0
        blocks.append(block)
        return pushwake_str(ptr: UnsafeRawPointer(block.baseAddress)?.assumingMemoryBound(to: CChar.self), len: count)
    }

    /// Keeps a text, in the same way.
    func keep(_ text: String) -> pushwake_str { keep(text.utf8) }
}

extension TextArena {
    /// As `keep`, but an empty text gets a pointer too, and only nil gives NULL.
    func keep(orEmpty text: String?) -> pushwake_str {
        guard let text else { return pushwake_str(ptr: nil, len: 0) }
        return text.isEmpty ? pushwake_str(ptr: staticText(""), len: 0) : keep(text)
    }
}

/// Text of a static string; such text lives as long as the library.
func staticText(_ text: StaticString) -> UnsafePointer<CChar>? {
    guard text.hasPointerRepresentation else { return nil }
    return UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}

/// Copies of a caller's words; nil when there is a number but no words.
func strings(_ words: UnsafePointer<pushwake_str>?, _ count: Int) -> [String]? {
    guard words != nil || count == 0, count >= 0, count <= mostWords else { return nil }
    return UnsafeBufferPointer(start: words, count: count).map(\.string)
}

/// More words than these nobody writes.
private let mostWords = 1024
