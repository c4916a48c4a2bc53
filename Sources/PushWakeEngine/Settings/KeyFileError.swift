// SPDX-License-Identifier: MIT

/// A key file that cannot be used, and what to do about it.
struct KeyFileError: Error, Equatable {
    let message: String
}
