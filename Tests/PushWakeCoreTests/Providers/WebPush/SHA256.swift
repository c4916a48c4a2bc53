// SPDX-License-Identifier: MIT

/// SHA-256 and HMAC (FIPS 180-4, RFC 2104) for tests, so that key derivation is checked for real.
enum SHA256 {
    private static let constants: [UInt32] = {
        // Fractional parts of the cube roots of the first 64 primes.
        var primes: [Int] = []
        var candidate = 2
        while primes.count < 64 {
            if primes.allSatisfy({ candidate % $0 != 0 }) { primes.append(candidate) }
            candidate += 1
        }
        return primes.map { root($0, cube: true) }
    }()

    private static let start: [UInt32] = [2, 3, 5, 7, 11, 13, 17, 19].map { root($0, cube: false) }

    /// The first 32 bits after the point of a root, by bisection on integers.
    private static func root(_ prime: Int, cube: Bool) -> UInt32 {
        var low: UInt64 = 0
        var high: UInt64 = 1 << 36
        while high - low > 1 {
            let middle = (low + high) / 2
            let power = cube ? wide(middle, middle, middle) : wide(middle, middle, 1 << 32)
            let target = wide(UInt64(prime) << 32, 1 << 32, 1 << 32)
            if power <= target { low = middle } else { high = middle }
        }
        return UInt32(truncatingIfNeeded: low)
    }

    private static func wide(_ a: UInt64, _ b: UInt64, _ c: UInt64) -> UInt128 { UInt128(a) * UInt128(b) * UInt128(c) }

    static func hash(_ message: [UInt8]) -> [UInt8] {
        var bytes = message + [0x80]
        while bytes.count % 64 != 56 { bytes.append(0) }
        let bits = UInt64(message.count) * 8
        for shift in (0..<8).reversed() { bytes.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift * 8))) }
        var state = start
        for block in stride(from: 0, to: bytes.count, by: 64) { compress(&state, Array(bytes[block..<(block + 64)])) }
        return state.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) } }
    }

    static func hmac(key: [UInt8], _ data: [UInt8]) -> [UInt8] {
        let padded = (key.count > 64 ? hash(key) : key) + Array(repeating: 0, count: 64)
        let block = padded.prefix(64)
        return hash(block.map { $0 ^ 0x5C } + hash(block.map { $0 ^ 0x36 } + data))
    }

    private static func compress(_ state: inout [UInt32], _ block: [UInt8]) {
        var w = (0..<16).map { index in block[(index * 4)..<(index * 4 + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        for i in 16..<64 {
            let s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ (w[i - 15] >> 3)
            let s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ (w[i - 2] >> 10)
            w.append(w[i - 16] &+ s0 &+ w[i - 7] &+ s1)
        }
        var v = state
        for i in 0..<64 {
            let s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)
            let choice = (v[4] & v[5]) ^ (~v[4] & v[6])
            let t1 = v[7] &+ s1 &+ choice &+ constants[i] &+ w[i]
            let s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2])
            v = [t1 &+ s0 &+ majority, v[0], v[1], v[2], v[3] &+ t1, v[4], v[5], v[6]]
        }
        for i in 0..<8 { state[i] = state[i] &+ v[i] }
    }

    private static func rotate(_ value: UInt32, _ count: UInt32) -> UInt32 { value >> count | value << (32 - count) }
}
