// SPDX-License-Identifier: MIT

import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

@Suite struct `News for a host` {
    /// What a peer hears, in order.
    private final class Listener {
        private(set) var kinds: [EngineProtocol.Kind] = []
        private(set) lazy var peer = InnerPeer { [unowned self] in kinds.append($0.kind) }
    }

    @Test func `waits for others of its kind, and goes with what is urgent`() {
        let listener = Listener()
        listener.peer.begin(draft: MessageWriter.bytes(.result))
        #expect(listener.peer.needsSending(isUrgent: false))
        listener.peer.begin(draft: MessageWriter.bytes(.result))
        #expect(!listener.peer.needsSending(isUrgent: false))
        listener.peer.begin(draft: MessageWriter.bytes(.verbs))
        #expect(listener.peer.needsSending(isUrgent: true))
        #expect(!listener.peer.needsSending(isUrgent: true) && !listener.peer.needsSending(isUrgent: false))
        #expect(listener.kinds.isEmpty)
        listener.peer.sendDrafts()
        #expect(listener.kinds == [.result, .result, .verbs])
        listener.peer.sendDrafts()
        #expect(listener.kinds.count == 3)
        #expect(listener.peer.needsSending(isUrgent: false))
    }

    @Test func `is passed by no reply`() {
        let listener = Listener()
        listener.peer.begin(draft: MessageWriter.bytes(.result))
        listener.peer.send(MessageWriter.bytes(.reply))
        #expect(listener.kinds == [.result, .reply])
    }

    @Test func `takes verbs along, into the message that was begun last`() throws {
        var fields: [Int] = []
        let peer = InnerPeer { message in
            var reader = message
            var count = 0
            while reader.next() != nil { count += 1 }
            fields.append(count)
        }
        let verb = MessageWriter.bytes(.verbs, id: 0, [.verb: 6])
        #expect(!peer.join(verb[EngineProtocol.headerLength...]))
        peer.begin(draft: MessageWriter.bytes(.result))
        peer.begin(draft: MessageWriter.bytes(.result))
        #expect(peer.join(verb[EngineProtocol.headerLength...]))
        peer.sendDrafts()
        #expect(fields == [0, 1])
    }

    @Test(arguments: [(HostVerb.Kind.pushed, false), (.tell, false), (.ring, true), (.giveUp, true), (.hold, true)])
    func `is urgent where a phone or a caller waits`(kind: HostVerb.Kind, isUrgent: Bool) {
        #expect(kind.isUrgent == isUrgent)
    }
}
