// SPDX-License-Identifier: MIT

import PushWakeClient
import PushWakeCore
import Testing

@testable import PushWakeEngine

@Suite struct `Lines of failed pushes` {
    @Test func `are five a second of a kind, and then a count`() {
        var lines = FailureLines()
        let levels = (0..<8).map { _ in lines.admit(.apns, .tokenGone, now: 0).level }
        #expect(levels == Array(repeating: .info, count: 5) + Array(repeating: .debug, count: 3))
        #expect(lines.admit(.fcm, .tokenGone, now: 0) == (.info, 0))
        #expect(lines.admit(.apns, .unavailable, now: 999) == (.info, 0))
        #expect(lines.summaries(now: 999).isEmpty)
        #expect(lines.admit(.apns, .tokenGone, now: 1000) == (.info, 3))
    }

    @Test func `are counted when no other follows`() {
        var lines = FailureLines()
        for _ in 0..<8 { _ = lines.admit(.apns, .tokenGone, now: 0) }
        #expect(lines.summaries(now: 1000) == [FailureLines.summary(.apns, .tokenGone, 3)])
        #expect(lines.summaries(now: 2000).isEmpty)
    }

    @Test func `are a warning once a minute where an operator has to mend something`() {
        var lines = FailureLines()
        #expect(
            [0, 1, 59_999, 60_000, 60_001].map { lines.admit(.apns, .misconfigured, now: $0).level }
                == [.warning, .info, .info, .warning, .info])
        #expect(lines.admit(.fcm, .misconfigured, now: 1).level == .warning)
    }
}
