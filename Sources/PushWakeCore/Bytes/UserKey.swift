// SPDX-License-Identifier: MIT

/// A user by the bytes of the AoR: texts are equal where bytes are not, and registrars compare bytes.
package struct UserKey: Hashable {
    package let aor: String

    package init(_ aor: String) { self.aor = aor }

    package static func == (a: UserKey, b: UserKey) -> Bool { a.aor.isSameBytes(as: b.aor) }

    // Texts of the same bytes are equal.
    package func hash(into hasher: inout Hasher) { hasher.combine(aor) }
}

extension String {
    /// Compares bytes: `==` takes different spellings of one character for the same.
    package func isSameBytes(as other: String) -> Bool {
        let (own, others) = (utf8Span, other.utf8Span)
        guard own.count == others.count else { return false }
        // There is one spelling only, and the library compares many bytes at a time.
        if own.isKnownASCII, others.isKnownASCII { return self == other }
        for index in 0..<own.count where own.span[index] != others.span[index] { return false }
        return true
    }
}
