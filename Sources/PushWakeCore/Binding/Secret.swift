// SPDX-License-Identifier: MIT

/// Text that must not reach a log: printing it shows dots.
public struct Secret: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The text itself, for the one who needs it.
    public let revealed: String

    /// Hides a text.
    public init(_ text: String) { revealed = text }

    /// Dots.
    public var description: String { "…" }
    /// Dots.
    public var debugDescription: String { description }
    /// Empty: `dump` shows nothing either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
