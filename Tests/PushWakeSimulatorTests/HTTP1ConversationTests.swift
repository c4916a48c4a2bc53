// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeSimulator

@Suite struct `Simulator's HTTP/1.1` {
    /// Never answers.
    private final class SilentValidator: RequestValidator {
        var requests = 0
        var isFCM: Bool { false }

        func validate(_ request: ReceivedRequest, stream: Int32) -> Reaction {
            requests += 1
            return Reaction(answer: nil)
        }
        func answerLeaves(_ reaction: Reaction) {}
        func later(_ milliseconds: Int64, _ action: @escaping () -> Void) {}
        func postpone(_ effect: FaultRule.Effect) {}
        func count(_ change: (inout SimulatorCounters) -> Void) {}
    }

    @Test func `keeps no more than a request while another one waits`() {
        let validator = SilentValidator()
        let conversation = HTTP1Conversation(validator: validator)
        let head = Array("POST /3/device/a HTTP/1.1\r\nhost: x\r\n\r\n".utf8)
        #expect(head.withUnsafeBytes { conversation.receive($0) })
        #expect(validator.requests == 1)
        let chunk = [UInt8](repeating: 0x41, count: 16_384)
        let taken = (0..<200).prefix { _ in chunk.withUnsafeBytes { conversation.receive($0) } }.count
        #expect(taken > 0)
        #expect(taken < 100)
    }
}
