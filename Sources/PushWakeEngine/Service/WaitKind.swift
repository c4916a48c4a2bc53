// SPDX-License-Identifier: MIT

/// What a waiting channel hears; raw values are `enum pushwake_wait_kind`.
enum WaitKind: Int {
    case registered = 1
    case timedOut = 2
    case failed = 3
}
