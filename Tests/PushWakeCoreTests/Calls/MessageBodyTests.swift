// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `The body of a MESSAGE` {
    @Test(arguments: [
        ("", MessageBody.text), ("text/plain", .text), ("TEXT/HTML; charset=utf-8", .text),
        ("message/cpim", .other), ("application/vnd.gsma.rcs-ft-http+xml", .other), ("texture/x", .other),
    ])
    func `is told by its type`(type: String, body: MessageBody) {
        #expect(MessageBody(contentType: type) == body)
    }

    @Test(arguments: [
        "application/im-iscomposing+xml", "Application/IM-isComposing+XML ;charset=x", " message/imdn+xml",
    ])
    func `may be no news to a user`(type: String) {
        guard case .notice = MessageBody(contentType: type) else {
            Issue.record("\(type) would wake a phone")
            return
        }
    }
}
