// SPDX-License-Identifier: MIT

public import PushWakeCore

/// How a request ended.
public enum HTTPResult: Equatable, Sendable {
    /// `connection` names the one it came on, for `retireConnection`.
    case answered(HTTPResponse, connection: Int)
    /// It was sent and no answer came: the server may have processed it, so that only the caller can say
    /// whether a second one does harm.
    case lost(String)
    /// Nothing of it reached a server: no connection could be made, and the text says why.
    case unreachable(String)
    /// The server does not admit this client: it refused the certificate. Nothing was processed, and another attempt
    /// would end the same way.
    case notAdmitted(String)
    /// Its deadline passed before it was sent.
    case expired
    /// It was not sent: it would not be written.
    case refused(PushRefusal)
}
