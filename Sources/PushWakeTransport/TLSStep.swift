// SPDX-License-Identifier: MIT

/// Result of a step that may need bytes which have not come yet: WANT_READ is a state, not an error.
enum TLSStep: Equatable {
    case incomplete
    case complete
    /// OpenSSL's words.
    case failed(String)
}
