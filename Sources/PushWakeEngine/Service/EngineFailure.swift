// SPDX-License-Identifier: MIT

/// Why an engine could not start.
public struct EngineFailure: Error, Equatable, Sendable {
    /// What is wrong and what to do.
    public let message: String
}
