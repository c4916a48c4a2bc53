// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

/// A shared store that answers when the test says so.
final class LateStore: SharedStore {
    let bindings = MemoryStore()
    var open: [() -> Void] = []
    var announced: [[UInt8]] = []
    var isAway = false
    var isClaimed = false
    /// The server takes note of who holds requests.
    var isKnown = true
    /// How often a node has said once more that it holds some.
    var heldAgain = 0
    var confirmed: [String] = []
    /// Tokens whose user it was told.
    var noted: [String] = []
    /// Seconds for which requests may be held, as `hold` was told.
    var heldFor: [Int64] = []
    /// What `claimAnew` says.
    var isClaimedStill = true
    let claimPause: Int64 = 0
    var runs = 1
    var onAnnouncement: ([UInt8]) -> Void = { _ in }
    var onGap: () -> Void = {}
    var backlog = 0
    var sharedNames: [String] = []
    var isReady: Bool { !isAway }
    let refusal: StoreError? = nil

    /// Answers all questions, in their order, and those that come of it.
    func answer() { while !open.isEmpty { open.removeFirst()() } }

    private func result<Answer>(_ work: (any BindingStore) throws(StoreError) -> Answer) -> Result<Answer, StoreError> {
        guard !isAway else { return .failure(.unusable("it is away")) }
        do throws(StoreError) {
            for _ in 1..<runs { _ = try work(MemoryStore()) }
            return .success(try work(bindings))
        } catch {
            return .failure(error)
        }
    }

    func ask<Answer>(
        about aor: String, now: Int64, keepsTrying: Bool,
        announcing announcement: @autoclosure @escaping () -> [UInt8]?,
        _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>) -> Void
    ) {
        open.append { [self] in
            if let announcement = announcement() { announced.append(announcement) }
            then(result(work))
        }
    }

    func hold<Answer>(
        for aor: String, claim: String, seconds: Int64, now: Int64,
        _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>, HoldState) -> Void
    ) {
        heldFor.append(seconds)
        open.append { [self] in then(result(work), HoldState(isClaimed: isClaimed, isKnown: isKnown)) }
    }

    func holdAgain<Answer>(
        for aor: String, seconds: Int64, now: Int64,
        _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>, Bool) -> Void
    ) {
        heldAgain += 1
        open.append { [self] in then(result(work), isKnown) }
    }

    func confirmClaim(_ claim: String, of aor: String) { confirmed.append(aor) }

    func claimAnew(_ claim: String, of aor: String, then: @escaping (Bool) -> Void) {
        open.append { [self] in then(isClaimedStill) }
    }

    func ask<Answer>(
        aboutPURR purr: PURR, now: Int64, _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>) -> Void
    ) {
        open.append { [self] in then(result(work)) }
    }

    func noteUser(of binding: Binding, then: @escaping (String?) -> Void) {
        noted.append(binding.token)
        open.append { [self] in then(bindings.users(withTokenOf: binding).last) }
    }

    func user(ofTokenOf binding: Binding, then: @escaping (String?) -> Void) {
        open.append { [self] in then(bindings.users(withTokenOf: binding).last) }
    }

    func nodes(then: @escaping (Result<[SharedNode], StoreError>) -> Void) {
        then(.success([SharedNode(name: "a", version: "1", startedAt: 0)]))
    }

    func users(
        after cursor: String, beginning: String, limit: Int,
        then: @escaping (Result<(aors: [String], next: String?), StoreError>) -> Void
    ) {
        then(.success((bindings.aors(after: "", limit: .max, now: 0).filter { $0.hasPrefix(beginning) }, nil)))
    }
}

/// A host that holds requests, on a real socket.
final class SharedStoreHost {
    let bench: CoreBench
    let store = LateStore()
    private let connection: ConnectedPeer
    private var peer: SocketPeer { connection.peer }

    init(_ settings: [String: String] = [:]) throws {
        bench = try CoreBench(settings, shared: store)
        connection = try ConnectedPeer()
        try say(.subscribe, [.host: 7])
        _ = hear()
    }

    /// Its process is gone.
    func hangUp() {
        peer.close()
        bench.core.closed(peer)
    }

    var isWaiting: Bool { peer.wait != nil }
    /// How many requests it holds.
    var live: Int { bench.core.requests.calls.live }
    var pushed: Int { bench.core.context.statistics.pushed }
    /// No request waits for its bindings.
    var isAtRest: Bool { live == 0 && bench.core.requests.awaitingBindings.isEmpty }

    /// A call to bob, whose phone registered so many seconds ago elsewhere, as the store has said.
    func hold(age: Int64) throws {
        putBinding(age: age)
        try call()
        store.answer()
    }

    /// A process waits for bob.
    func wait(_ callID: String = "call") throws {
        try say(.wait, [.aor: "bob", .callID: callID, .withoutContacts: 1])
    }

    func say(_ kind: EngineProtocol.Kind, _ fields: MessageFields) throws {
        bench.core.handle(try .of(kind, fields), from: peer)
    }

    /// The next message; nil when there is none.
    func hear() -> MessageReader? {
        bench.loop.turn(waitingUpTo: 0)
        return connection.hear()
    }

    /// A call to bob; `contact`: the registrar has this one, which can be reached so.
    func call(handle: UInt64 = 1, contact: String? = nil, reach: CallContact.Reach = .datagram) throws {
        guard let contact else {
            return try say(.wake, [.aor: "bob", .callID: "call", .method: "INVITE", .host: 7, .handle: Int64(handle)])
        }
        try say(
            .wake,
            [
                .aor: "bob", .callID: "call", .method: "INVITE", .host: 7, .handle: Int64(handle),
                .contactURI: contact, .contactKey: "uloc-0", .contactReachable: Int64(reach.rawValue),
            ])
    }

    /// Says something of its call.
    func report(_ kind: EngineProtocol.Kind, _ tag: EngineProtocol.Tag, _ number: Int64) throws {
        try say(kind, [.host: 7, .handle: 1, tag: number])
    }

    func register() throws {
        try say(
            .register,
            [
                .aor: "bob", .callID: "a@b", .cseq: 1, .granted: 3600, .headerName: "Contact",
                .headerValue:
                    "<sip:bob@10.0.0.1:5060;transport=tcp;pn-provider=fcm;pn-param=project;pn-prid=abc:def>;+sip.instance=\"<1>\";reg-id=2",
                .contactURI: "sip:bob@10.0.0.1:5060;transport=tcp", .contactKey: "uloc-1",
                .contactFlow: "sip:10.0.0.1:4711;transport=tcp", .contactReachable: 1,
            ])
    }

    func putBinding(age: Int64) {
        _ = store.bindings.register([Self.binding(age: age)], now: SystemClock.wallSeconds())
    }

    /// A phone that registered at another node, so many seconds ago.
    static func binding(age: Int64) -> Binding {
        let now = SystemClock.wallSeconds()
        return Binding(
            aor: "bob", provider: .fcm, app: "project", token: "abc:def", dialect: .rfc8599, instance: "<1>",
            contact: "sip:bob@10.0.0.1:5060;transport=tcp", callID: "a@b", cseq: 1, registeredAt: now - age,
            expiresAt: now + 600, forgetAt: now + 600, route: "<sip:10.0.0.2:5060;lr>")
    }
}

extension SharedStoreHost {
    /// The next message with a verb of this kind.
    func verb(_ kind: Int64) -> MessageReader? {
        for _ in 0..<20 {
            guard let message = hear() else { return nil }
            // Verbs of one turn come together.
            var reader = message
            while message.kind == .verbs, let field = reader.next() {
                if field.tag == .verb, reader.number(field) == kind { return message }
            }
        }
        return nil
    }
}
