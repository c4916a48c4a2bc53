// SPDX-License-Identifier: MIT

/// Why the engine gave no answer.
public enum ClientError: Error, Equatable, Sendable {
    /// Nobody listens on the socket, or the connection broke.
    case unavailable(String)
    case timeout
    case tooLarge
    /// The engine said no, and why.
    case refused(String)
}
