// SPDX-License-Identifier: MIT

/// Device tokens whose name says how they fare, so that a test needs no script:
/// `unregistered-7`, `expired-…`, `invalid-…`, `mismatch-…`.
enum NamedToken {
    case ordinary, unregistered, expired, invalid, mismatch

    /// Reads the name; a hexadecimal token never has one.
    init(_ token: ArraySlice<UInt8>) {
        self =
            switch token.first {
            case UInt8(ascii: "u") where token.starts(with: "unregistered".utf8): .unregistered
            case UInt8(ascii: "e") where token.starts(with: "expired".utf8): .expired
            case UInt8(ascii: "i") where token.starts(with: "invalid".utf8): .invalid
            case UInt8(ascii: "m") where token.starts(with: "mismatch".utf8): .mismatch
            default: .ordinary
            }
    }
}
