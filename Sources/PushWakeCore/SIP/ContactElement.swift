// SPDX-License-Identifier: MIT

/// One contact of a Contact header: where its parts are.
struct ContactElement {
    /// The URI, without angle brackets. Empty for `*`.
    let uri: Range<Int>
    /// What follows the URI, up to the comma.
    let parameters: Range<Int>
    let isWildcard: Bool
    /// The URI has a blank or control byte in it.
    let isBroken: Bool
}
