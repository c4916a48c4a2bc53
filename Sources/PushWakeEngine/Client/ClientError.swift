// SPDX-License-Identifier: MIT

/// Why the engine gave no answer.
public enum ClientError: Error, Equatable, Sendable {
    /// Nobody listens on the socket, or the connection broke.
    case unavailable(String)
    case timeout
    case tooLarge
    /// The engine said no, and why.
    case refused(String)
    /// The engine does not know whom the request was about.
    case notFound(String)

    /// What a `failure` of the engine says.
    init(_ failure: MessageReader) {
        let text = EngineClient.text(.message, in: failure)
        self = EngineClient.number(.missing, in: failure) != 0 ? .notFound(text) : .refused(text)
    }
}
