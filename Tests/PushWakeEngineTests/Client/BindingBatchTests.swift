// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeClient

@Suite struct `Lines of bindings on their way to an engine` {
    private func line(_ user: String, length: Int = 1024) -> String {
        let head = "{\"provider\":\"fcm\",\"aor\":\"\(user)\",\"token\":\""
        return head + String(repeating: "x", count: length - head.utf8.count - 2) + "\"}"
    }

    /// Numbers of the lines of each message.
    private func messages(_ lines: [String]) -> [[Int]] {
        var batch = BindingBatch()
        var found: [[Int]] = []
        for (index, text) in lines.enumerated() {
            if batch.add(text, number: index + 1) == .sendFirst {
                found.append(batch.take().map(\.number))
                #expect(batch.add(text, number: index + 1) == .taken)
            }
        }
        return found + [batch.take().map(\.number)]
    }

    @Test func `fill messages, and no line is lost`() {
        let found = messages((1...200).map { line("user\($0)") })
        #expect(found.map(\.count) == [49, 49, 49, 49, 4])
        #expect(found.flatMap { $0 } == Array(1...200))
    }

    @Test func `stay together when they are of one user, wherever the line names it`() {
        let found = messages((1...100).map { line($0 <= 40 ? "alice" : $0 <= 60 ? "bob" : "user\($0)") })
        #expect(found.map(\.count) == [60, 40])
    }

    @Test func `fit into a message, even when all are of one user or of nobody`() {
        for user in ["alice", ""] {
            let found = messages(Array(repeating: line(user), count: 300))
            #expect(found.map(\.count) == [128, 128, 44])
        }
        #expect(BindingBatch.most + 5 * BindingBatch.most / 1024 < EngineProtocol.longestMessage)
    }

    @Test func `are left out when no binding is so long`() {
        var batch = BindingBatch()
        #expect(batch.add(line("alice", length: BindingBatch.enough + 1), number: 1) == .tooLong)
        #expect(batch.add(line("alice", length: BindingBatch.enough), number: 2) == .taken)
        #expect(batch.take().map(\.number) == [2])
        #expect(batch.take().isEmpty)
    }

    @Test(arguments: [
        ("{\"aor\":\"alice\",\"x\":1}", "alice"), ("{\"x\":1, \"aor\" : \"bob\"}", "bob"), ("{\"aor\":1}", ""),
        ("", ""),
        ("\"aor\"", ""), ("{\"aor\":\"", ""),
    ])
    func `name their user`(line: String, user: String) {
        #expect(BindingBatch.user(of: line) == user)
    }
}
