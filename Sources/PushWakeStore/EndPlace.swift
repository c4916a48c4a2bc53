// SPDX-License-Identifier: MIT

/// A place in the order in which registrations end.
public struct EndPlace: Comparable, Sendable {
    /// Seconds since 1970.
    public let time: Int64
    /// Tells bindings apart that end in the same second; the store's own number.
    public let row: Int64

    /// Makes a place; `.max` for `row` is behind all that ends in that second.
    public init(time: Int64, row: Int64 = .max) {
        self.time = time
        self.row = row
    }

    /// Earlier ends come first.
    public static func < (left: EndPlace, right: EndPlace) -> Bool {
        (left.time, left.row) < (right.time, right.row)
    }
}
