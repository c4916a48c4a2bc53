// SPDX-License-Identifier: MIT

/// Which of several final answers a caller hears (RFC 3261, 16.7, 6).
public struct BestAnswer: Equatable, Sendable {
    /// 0: none so far.
    public private(set) var status = 0

    public init() {}

    /// Takes a final answer that is not 2xx. A 6xx speaks for the user; else the lowest class is best, and within 4xx what
    /// the caller can do something about. Of equals the first stays.
    public mutating func take(_ status: Int) {
        guard (300..<700).contains(status), self.status == 0 || Self.rank(status) < Self.rank(self.status) else {
            return
        }
        self.status = status
    }

    private static func rank(_ status: Int) -> Int {
        switch status {
        case 600...: 0
        case 401, 407, 415, 420, 484: 40
        case 503: 59
        default: status / 100 * 10 + 1
        }
    }
}
