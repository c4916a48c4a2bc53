// SPDX-License-Identifier: MIT

/// Why a store could not do what it was asked. Nothing was changed then.
///
/// The text names the file or server and says what to do about it.
public enum StoreError: Error, Equatable, Sendable {
    /// The file or server cannot be used: missing, not permitted, locked, or of another program.
    case unusable(String)
    /// No room is left where the bindings are kept; reading still works.
    case full(String)
    /// What is kept cannot be understood; it is left as it is.
    case corrupt(String)
}

extension StoreError: CustomStringConvertible {
    /// The text alone: it says what failed and what to do.
    public var description: String {
        switch self {
        case .unusable(let text), .full(let text), .corrupt(let text): text
        }
    }
}
