// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine
@testable import PushWakeStore

@Suite struct `A store whose file is damaged` {
    @Test func `is named once, and not called well while this engine has it`() throws {
        let loop = try Loop()
        var lines: [(LogLevel, String)] = []
        let log = EngineLog(threshold: .notice) { lines.append(($0, $1)) }
        let core = EngineCore(
            settings: Settings(), store: MemoryStore(),
            delivery: Delivery(settings: Settings(), loop: loop, log: log), log: log)
        #expect(core.store.state.isUsable && core.store.refusal == nil)
        for _ in 0..<3 {
            let answer = core.store.askOwn { (_) throws(StoreError) -> Int in
                throw .corrupt("b.db is damaged; move it away")
            }
            #expect(answer == .failure(.corrupt("b.db is damaged; move it away")))
        }
        // A page that can be written says nothing of the others.
        core.registrations.lookAtStore()
        #expect(!core.store.state.isUsable && core.store.refusal != nil)
        #expect(lines.map(\.0) == [.error])
        #expect(lines.map(\.1) == ["b.db is damaged; move it away"])
    }
}
