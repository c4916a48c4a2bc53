// SPDX-License-Identifier: MIT

/// Names for pushes: seeded by the system once, then a step each (xoshiro256**), since a system
/// call per push would cost more than the push's own request.
struct Randomness {
    private var state: (UInt64, UInt64, UInt64, UInt64)

    init() {
        var system = SystemRandomNumberGenerator()
        state = (system.next(), system.next(), system.next(), system.next() | 1)
    }

    mutating func next() -> UInt64 {
        let product = state.1 &* 5
        let result = (product << 7 | product >> 57) &* 9
        let shifted = state.1 << 17
        state.2 ^= state.0
        state.3 ^= state.1
        state.1 ^= state.2
        state.0 ^= state.3
        state.2 ^= shifted
        state.3 = state.3 << 45 | state.3 >> 19
        return result
    }
}
