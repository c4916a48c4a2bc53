// SPDX-License-Identifier: MIT

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
