// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

@Suite struct `A REGISTER that its registrar has not seen yet` {
    private static let served = "<sip:bob@10.0.0.1;pn-provider=fcm;pn-param=project;pn-prid=abc:def>"
    private static let unknown = "<sip:bob@10.0.0.1;pn-provider=pigeon;pn-param=a;pn-prid=b>"

    @Test(arguments: [
        (unknown, 1, 0, 555, ""), (served, 1, 120, 423, "Min-Expires: 120\r\n"),
        (served, 0, 120, 423, "Min-Expires: 120\r\n"),
        // The interval is long enough; the host refuses none; no push.
        (served, 1, 60, 0, ""), (unknown, 0, 120, 0, ""), ("<sip:bob@10.0.0.1>", 1, 120, 0, ""),
    ])
    func `is refused as its host has set, and nothing changes`(
        contact: String, sends555: Int, minExpires: Int, code: Int, headers: String
    ) throws {
        let bench = try CoreBench()
        let reply = try bench.ask(
            .registerCheck,
            [
                .sends555: sends555, .minExpires: minExpires, .aor: "bob", .callID: "a@b", .headerName: "Contact",
                .headerValue: contact, .headerName: "Expires", .headerValue: "60",
            ])
        #expect(reply.kind == .reply && reply[.status] == Int64(code))
        #expect(EngineClient.text(.headerLines, in: reply) == headers)
        #expect(EngineClient.text(.reason, in: reply).isEmpty == (code == 0))
        #expect(bench.currentTokens().isEmpty)
    }
}
