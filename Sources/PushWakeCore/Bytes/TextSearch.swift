// SPDX-License-Identifier: MIT

/// A text in another, byte by byte. What Swift has for this compares characters, and brings a library of 1.3 MB.
extension StringProtocol {
    /// Where a text stands first; nil when it does not. An empty one stands at the begin.
    package func firstRange(of text: String) -> Range<String.Index>? {
        let (bytes, wanted) = (utf8, text.utf8)
        guard let first = wanted.first else { return startIndex..<startIndex }
        var start = bytes.startIndex
        while let found = bytes[start...].firstIndex(of: first) {
            if bytes[found...].starts(with: wanted) { return found..<bytes.index(found, offsetBy: wanted.count) }
            start = bytes.index(after: found)
        }
        return nil
    }

    /// Whether a text stands anywhere in it.
    package func contains(_ text: String) -> Bool { firstRange(of: text) != nil }
}
