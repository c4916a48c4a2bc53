// SPDX-License-Identifier: MIT

/// How busy an engine is, 0 to 4, as Mizutech's `wsload` has it.
public enum LoadLevel: UInt8, Comparable, Sendable, CaseIterable {
    case low = 0
    case normal = 1
    case high = 2
    case veryHigh = 3
    case extreme = 4

    public static func < (a: LoadLevel, b: LoadLevel) -> Bool { a.rawValue < b.rawValue }
}
