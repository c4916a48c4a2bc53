// SPDX-License-Identifier: MIT

/// One value of an answer.
public struct EngineField: Equatable, Sendable {
    /// Column or counter, such as `provider`.
    public let name: String
    /// Nil when the value is `number`.
    public let text: String?
    /// 0 when the value is `text`.
    public let number: Int64
}
