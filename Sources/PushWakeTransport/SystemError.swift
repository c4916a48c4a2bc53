// SPDX-License-Identifier: MIT

internal import CLinux

/// A system call that failed: what was tried and the system's words.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was tried, and on what.
    public let operation: String
    /// The system's error number.
    public let code: Int32

    /// Names a failure that has been seen elsewhere.
    public init(_ operation: String, code: Int32) {
        self.operation = operation
        self.code = code
    }

    /// Reads like `connect to 127.0.0.1:443: Connection refused`.
    public var description: String { "\(operation): \(String(cString: strerror(code)))" }

    static func last(_ operation: String) -> SystemError { SystemError(operation, code: clinux_errno()) }
}
