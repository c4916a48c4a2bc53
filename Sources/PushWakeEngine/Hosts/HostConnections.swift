// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// Writes to the hosts, and to everybody else who asks: replies, verbs, orders and results.
final class HostConnections {
    private let context: EngineContext
    /// Connections that want results.
    private(set) var subscribers: [EnginePeer] = []
    var undelivered = UndeliveredVerbs()
    private var writer = MessageWriter()
    private let lossLines: LimitedLines
    private var descriptorLines = LineBudget(most: 1, period: 60_000)

    init(_ context: EngineContext) {
        self.context = context
        lossLines = LimitedLines(context.log, most: 1)
    }

    /// A supervisor wants results, and the verbs and orders of its host.
    func subscribe(_ message: MessageReader, _ peer: EnginePeer) {
        peer.isSubscribed = true
        peer.host = UInt64(bitPattern: EngineClient.number(.host, in: message))
        peer.sendsUpstream = EngineClient.number(.sendsUpstream, in: message) != 0
        if !subscribers.contains(where: { $0 === peer }) { subscribers.append(peer) }
        reply(to: message, peer) { _ in }
        let now = SystemClock.monotonicMilliseconds()
        for verbs in undelivered.take(for: peer.host, now: now) { peer.send(verbs) }
    }

    /// Its connection is closed.
    func forget(_ peer: EnginePeer) { subscribers.removeAll { $0 === peer } }

    /// Sends the reply to a request.
    func reply<Failure>(
        to message: MessageReader, _ peer: EnginePeer, _ fill: (inout MessageWriter) throws(Failure) -> Void
    ) throws(Failure) {
        writer.begin(.reply, id: message.id)
        try fill(&writer)
        guard !writer.isOverfull else { return fail(message, peer, "the answer is longer than one message") }
        peer.send(writer.bytes)
    }

    /// Refuses a request; the text says what to do. `isStoreAway`: nothing is wrong with the request.
    func fail(
        _ message: MessageReader, _ peer: EnginePeer, _ text: String, isMissing: Bool = false, isStoreAway: Bool = false
    ) {
        writer.begin(.failure, id: message.id)
        writer.put(.message, text)
        if isMissing { writer.put(.missing, 1) }
        if isStoreAway { writer.put(.storeAway, 1) }
        peer.send(writer.bytes)
    }

    /// Sends verbs to the host that holds their request, or keeps them until it is connected.
    func post(_ verbs: [HostVerb], to host: UInt64) {
        writer.begin(.verbs, id: 0)
        for verb in verbs { verb.encode(into: &writer) }
        if let peer = subscribers.first(where: { $0.host == host }) {
            if !peer.join(writer.bytes[EngineProtocol.headerLength...]) { peer.begin(draft: writer.bytes) }
            flush(peer, isUrgent: verbs.contains { $0.kind.isUrgent })
        } else {
            undelivered.keep(writer.bytes, for: host, now: SystemClock.monotonicMilliseconds())
        }
    }

    /// Sends orders to the hosts that carry them out.
    func send(_ orders: [UpstreamOrder]) {
        for order in orders {
            guard let peer = subscribers.first(where: { $0.host == order.host && $0.sendsUpstream }) else { continue }
            writer.begin(.upstream, id: 0)
            order.encode(into: &writer)
            peer.send(writer.bytes)
        }
    }

    /// A host that sends REGISTERs: the one asked for, or any; nil when none is there.
    func upstreamHost(_ wanted: UInt64) -> UInt64? {
        let there = subscribers.filter(\.sendsUpstream)
        return (there.first { $0.host == wanted } ?? there.first)?.host
    }
    /// Tells everybody who asked how a push has ended.
    func tell(_ result: PushResult) {
        guard !subscribers.isEmpty else { return }
        writer.begin(.result, id: 0)
        result.encode(into: &writer)
        for peer in subscribers { enqueue(writer.bytes, to: peer, isUrgent: result.outcome != .accepted) }
    }

    /// Milliseconds for which messages that no host waits for may wait for their like (docs/architecture/messages.md).
    private static let batchDelay: Int64 = 10

    /// Sends at the end of this turn, so that the supervisor wakes up once for a push and what comes of it. That a push was
    /// taken is told with what else comes in the next moment: where there are many calls, it wakes up once for several.
    private func enqueue(_ message: [UInt8], to peer: EnginePeer, isUrgent: Bool) {
        peer.begin(draft: message)
        flush(peer, isUrgent: isUrgent)
    }

    /// Sees to it that what was begun goes.
    private func flush(_ peer: EnginePeer, isUrgent: Bool) {
        guard peer.needsSending(isUrgent: isUrgent) else { return }
        if isUrgent {
            context.loop.atEndOfTurn { peer.sendDrafts() }
        } else {
            context.loop.schedule(after: Self.batchDelay) { peer.sendDrafts() }
        }
    }

    /// The engine ends: what waits goes now.
    func flushAll() {
        for peer in subscribers { peer.sendDrafts() }
    }

    /// A peer that does not read has lost a message.
    func messageLost() {
        context.statistics.messagesDropped += 1
        lossLines(
            .error,
            "a process of the PBX does not read what the engine sends it; messages are dropped, and requests that wait for them go on when their time is over"
        )
    }

    /// Somebody who connects has to wait: said once, not ten times a second.
    func descriptorsAreShort(_ limit: Int) {
        guard case .write = descriptorLines.admit(now: context.loop.now) else { return }
        context.log(
            .error,
            """
            all but a reserve of the \(limit) descriptors are in use: whoever connects now waits; raise LimitNOFILE, or \
            end clients
            """
        )
    }
}

extension MessageWriter {
    /// One value of a row.
    mutating func column(_ name: String, _ text: String) {
        put(.name, name)
        put(.text, text)
    }

    mutating func column(_ name: String, _ number: Int64) {
        put(.name, name)
        put(.number, number)
    }
}
