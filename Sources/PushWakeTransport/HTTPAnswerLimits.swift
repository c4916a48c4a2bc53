// SPDX-License-Identifier: MIT

/// Bounds on what a server may send.
public struct HTTPAnswerLimits: Sendable {
    /// Bytes of body that are kept; the rest is read and dropped.
    public var bodyBytes = 16_384
    /// Bytes of header names and values that are kept.
    public var headerBytes = 8_192
    /// Lower-case names of the headers to keep; nil keeps all.
    public var keptHeaders: [String]?

    /// Sets some limits and leaves the others as they are.
    public init(bodyBytes: Int = 16_384, headerBytes: Int = 8_192, keptHeaders: [String]? = nil) {
        self.bodyBytes = bodyBytes
        self.headerBytes = headerBytes
        self.keptHeaders = keptHeaders
    }
}
