// SPDX-License-Identifier: MIT

/// Why a template was refused, and where: line and column count from 1, columns in bytes.
public struct PayloadTemplateError: Error, Equatable, Sendable {
    public let line: Int
    public let column: Int
    public let message: String

    /// Places `message` at a byte offset of `source`.
    init(_ message: String, at offset: Int, in source: [UInt8]) {
        let before = source.prefix(offset)
        line = 1 + before.count { $0 == 0x0A }
        column = offset - (before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
        self.message = message
    }
}
