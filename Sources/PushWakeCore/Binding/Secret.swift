// SPDX-License-Identifier: MIT

/// Text that must not reach a log: printing it shows dots.
public struct Secret: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The text itself, for the one who needs it.
    public let revealed: String

    public init(_ text: String) { revealed = text }

    public var description: String { "…" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
