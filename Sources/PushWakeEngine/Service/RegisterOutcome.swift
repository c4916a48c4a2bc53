// SPDX-License-Identifier: MIT

/// What became of a REGISTER; raw values are `enum pushwake_register_outcome`.
enum RegisterOutcome: Int {
    case plain = 0
    case stored = 1
    case unbound = 2
    case query = 3
    case ignored = 4
}
