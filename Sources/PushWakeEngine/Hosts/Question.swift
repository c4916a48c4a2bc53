// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore

/// What a peer asks. It gets exactly one reply, now or later.
struct Question {
    let message: MessageReader
    /// Nil where nobody waits for the reply: then none is sent.
    let peer: EnginePeer?
    private let hosts: HostConnections

    init(_ message: MessageReader, _ peer: EnginePeer?, _ hosts: HostConnections) {
        (self.message, self.peer, self.hosts) = (message, peer, hosts)
    }

    /// Whoever asked is still connected.
    var isAwaited: Bool { peer?.isClosed == false }

    /// First text under a tag, or "".
    func text(_ tag: EngineProtocol.Tag) -> String { EngineClient.text(tag, in: message) }

    /// First number under a tag, or 0.
    func number(_ tag: EngineProtocol.Tag) -> Int64 { EngineClient.number(tag, in: message) }

    /// Sends the reply.
    func reply<Failure>(_ fill: (inout MessageWriter) throws(Failure) -> Void) throws(Failure) {
        if let peer { try hosts.reply(to: message, peer, fill) }
    }

    /// Refuses; the text says what to do.
    func fail(_ text: String, isMissing: Bool = false, isStoreAway: Bool = false) {
        if let peer { hosts.fail(message, peer, text, isMissing: isMissing, isStoreAway: isStoreAway) }
    }

    /// Nothing is wrong with the question: the store cannot be used, or whatever else it cannot be.
    func fail(_ error: StoreError, storeCannotBe what: String = "used") {
        fail("the store cannot be \(what): \(error)", isStoreAway: true)
    }
}
