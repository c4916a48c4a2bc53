// SPDX-License-Identifier: MIT

internal import COpenSSL

/// What OpenSSL refused, in its own words.
public struct TLSError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was tried and what OpenSSL says.
    public let message: String

    /// Wraps a text of our own.
    public init(_ message: String) { self.message = message }

    /// The message.
    public var description: String { message }

    /// Takes the oldest error of OpenSSL's queue, and empties the queue: a left-over would be blamed on the next call.
    static func drain(_ operation: String) -> TLSError {
        var reason = ""
        while true {
            let code = ERR_get_error()
            guard code != 0 else { break }
            guard reason.isEmpty else { continue }
            if let text = ERR_reason_error_string(code) {
                reason = String(cString: text)
            } else {
                reason = "error \(String(code, radix: 16))"
            }
        }
        return TLSError(reason.isEmpty ? operation : "\(operation): \(reason)")
    }
}
