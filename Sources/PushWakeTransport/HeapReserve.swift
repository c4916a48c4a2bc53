// SPDX-License-Identifier: MIT

internal import CLinux

/// Memory that the process has before it needs it: a burst of a thousand calls must not wait for the kernel, which
/// hands out pages one by one and takes longer for each than the engine takes for half a push.
public enum HeapReserve {
    /// What a thousand pushes in flight need, with room to spare.
    static let bytes = 2 << 20

    /// Fills the reserve, and tells the allocator to keep that much when it gives memory back.
    public static func fill() {
        mallopt(M_TOP_PAD, Int32(bytes))
        // Far from the reserve, or every block that is freed above it would be given back by itself.
        mallopt(M_TRIM_THRESHOLD, Int32(2 * bytes))
        // Larger blocks would be mapped apart from the heap, and unmapped with their end.
        let size = 64 << 10
        let blocks = (0..<bytes / size).map { _ in malloc(size) }
        for case let block? in blocks { memset(block, 0, size) }
        for block in blocks { free(block) }
    }

    /// Gives back what is free beyond the reserve.
    static func returnRest() { malloc_trim(bytes) }
}
