// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// How a held request ended; raw values are `enum pushwake_call_end`.
enum CallEnd: Int {
    case cancelled = 0
    case answered = 1
    case timedOut = 2
    case failed = 3

    /// What a phone that was pushed for the call has to hear of it.
    var news: PushEvent? {
        switch self {
        case .cancelled: .cancel
        case .answered: .answeredElsewhere
        case .timedOut, .failed: nil
        }
    }
}
