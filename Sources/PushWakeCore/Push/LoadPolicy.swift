// SPDX-License-Identifier: MIT

/// How busy an engine is, 0 to 4 (Mizutech's `wsload`).
public enum LoadLevel: UInt8, Comparable, Sendable, CaseIterable {
    case idle = 0
    case low = 1
    case normal = 2
    case high = 3
    case overload = 4

    /// The level for a queue that is filled so far, in parts of 100.
    public init(queueFill fill: Int) {
        switch fill {
        case ..<5: self = .idle
        case ..<20: self = .low
        case ..<50: self = .normal
        case ..<80: self = .high
        default: self = .overload
        }
    }

    public static func < (a: LoadLevel, b: LoadLevel) -> Bool { a.rawValue < b.rawValue }
}

/// Whether an event is worth a push under load (Mizutech's `pushnotification`, `…_chat`, `…_cancel`).
public enum LoadPolicy: UInt8, Sendable, CaseIterable {
    case never = 0
    case onLowLoad = 1
    case unlessOverloaded = 2
    case always = 3

    /// True when a push may be sent at this level.
    public func allows(_ level: LoadLevel) -> Bool {
        switch self {
        case .never: false
        case .onLowLoad: level <= .low
        case .unlessOverloaded: level < .overload
        case .always: true
        }
    }
}
