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
    private let client: LocalSocket
    private let peer: EnginePeer

    init(_ settings: [String: String] = [:]) throws {
        bench = try CoreBench(settings, shared: store)
        let path = "/tmp/pushwake-host-\(SystemClock.processID())-\(UInt64.random(in: 0...UInt64.max)).sock"
        let listener = try LocalSocket.listen(path: path)
        client = try LocalSocket.connect(path: path)
        peer = SocketPeer(socket: try #require(listener.accept()))
        try say(.subscribe) { $0.put(.host, 7) }
        _ = hear()
    }

    /// Its process is gone.
    func hangUp() {
        peer.close()
        bench.core.closed(peer)
    }

    var isWaiting: Bool { peer.wait != nil }

    func say(_ kind: EngineProtocol.Kind, _ fill: (inout MessageWriter) -> Void) throws {
        var writer = MessageWriter()
        writer.begin(kind, id: 9)
        fill(&writer)
        bench.core.handle(try #require(MessageReader(writer.bytes)), from: peer)
    }

    /// The next message; nil when there is none.
    func hear() -> MessageReader? {
        bench.loop.turn(waitingUpTo: 0)
        var buffer = [UInt8](repeating: 0, count: EngineProtocol.longestMessage)
        guard case .message(let count) = client.receive(into: &buffer) else { return nil }
        return MessageReader(Array(buffer[..<count]))
    }

    /// A call to bob; `contact`: the registrar has this one, which can be reached so.
    func call(handle: UInt64 = 1, contact: String? = nil, reach: CallContact.Reach = .datagram) throws {
        try say(.wake) { writer in
            writer.put(.aor, "bob")
            writer.put(.callID, "call")
            writer.put(.method, "INVITE")
            writer.put(.host, 7)
            writer.put(.handle, Int64(handle))
            guard let contact else { return }
            writer.put(.contactURI, contact)
            writer.put(.contactKey, "uloc-0")
            writer.put(.contactReachable, Int64(reach.rawValue))
        }
    }

    /// Says something of its call.
    func report(_ kind: EngineProtocol.Kind, _ tag: EngineProtocol.Tag, _ number: Int64) throws {
        try say(kind) { writer in
            writer.put(.host, 7)
            writer.put(.handle, 1)
            writer.put(tag, number)
        }
    }

    func register() throws {
        try say(.register) { writer in
            writer.put(.aor, "bob")
            writer.put(.callID, "a@b")
            writer.put(.cseq, 1)
            writer.put(.granted, 3600)
            writer.put(.headerName, "Contact")
            writer.put(
                .headerValue,
                "<sip:bob@10.0.0.1:5060;transport=tcp;pn-provider=fcm;pn-param=project;pn-prid=abc:def>;+sip.instance=\"<1>\";reg-id=2"
            )
            writer.put(.contactURI, "sip:bob@10.0.0.1:5060;transport=tcp")
            writer.put(.contactKey, "uloc-1")
            writer.put(.contactFlow, "sip:10.0.0.1:4711;transport=tcp")
            writer.put(.contactReachable, 1)
        }
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
