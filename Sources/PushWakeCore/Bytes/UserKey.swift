// SPDX-License-Identifier: MIT

/// A user by the bytes of the AoR, or of the name: texts are equal where bytes are not, and registrars compare bytes.
package struct UserKey: Hashable, Sendable {
    package let aor: String

    package init(_ aor: String) { self.aor = aor }

    package static func == (a: UserKey, b: UserKey) -> Bool { a.aor.isSameBytes(as: b.aor) }

    // Texts of the same bytes are equal.
    package func hash(into hasher: inout Hasher) { hasher.combine(aor) }
}

extension String {
    /// Compares bytes: `==` takes different spellings of one character for the same.
    package func isSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let own = utf8Span
        // No other spelling of it has as few bytes, and the library compares many of them at a time.
        if own.isKnownASCII { return self == other }
        let others = other.utf8Span
        for index in 0..<own.count where own.span[index] != others.span[index] { return false }
        return true
    }
}
