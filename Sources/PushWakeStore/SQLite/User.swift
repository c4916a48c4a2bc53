// SPDX-License-Identifier: MIT

/// A user with the number that stands for the AoR in all other tables.
struct User {
    let aor: String
    let uid: Int64

    /// Row ids of this user.
    var slots: ClosedRange<Int64> { (uid << 8)...(uid << 8 | 255) }
}
