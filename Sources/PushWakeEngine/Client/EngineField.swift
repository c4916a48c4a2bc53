// SPDX-License-Identifier: MIT

/// One value of an answer.
public struct EngineField: Equatable, Sendable {
    public let name: String
    /// Nil when the value is `number`.
    public let text: String?
    public let number: Int64
}
