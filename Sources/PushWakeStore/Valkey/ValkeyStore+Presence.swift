// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

/// Who is there, and whether two are there under one name.
extension ValkeyStore {
    /// Says again and again that this node is there. That is a change as well: so it is known whether the server takes any,
    /// and a word that is gone too soon was forgotten with all the others.
    func sayPresent() {
        for index in names.indices {
            let key = index == 0 ? keys.presence(names[index].name) : keys.address(names[index].name)
            servers.send(
                ["SET".word, key, presence.text.word, "EX".word, "\(options.presence)".word, "GET".word], about: key
            ) {
                [weak self] reply in
                guard let self, let reply else { return }
                if case .error(let text) = reply {
                    refused(text, by: servers.server(of: key))
                    return
                }
                serverErrors.end(servers.server(of: key))
                if reply == .null, hasSpoken.contains(key) { onGap() }
                hasSpoken.insert(key)
                spoke(index, after: reply.text.map { Presence($0).identity == self.presence.identity })
            }
        }
        guard !names.isEmpty, !isPresenceDue else { return }
        isPresenceDue = true
        loop.schedule(after: options.presence * 1000 / 3) { [weak self] in
            guard let self else { return }
            isPresenceDue = false
            sayPresent()
            tryServersInTrouble()
        }
    }

    private func spoke(_ index: Int, after isOwn: Bool?) {
        guard names[index].spoke(afterItself: isOwn) else { return }
        let name = names[index].name
        if names[index].isShared {
            say(
                true,
                "\(access.address): another node is \(name) as well: calls that wait here do not reach its phones; give each node a node_uri of its own"
            )
        } else {
            say(false, "\(access.address): no other node is \(name) any more")
        }
    }

    public var sharedNames: [String] { names.filter(\.isShared).map(\.name) }

    public func nodes(then: @escaping (Result<[SharedNode], StoreError>) -> Void) {
        collectNodes(at: ServerPlace(), [], then)
    }

    private func collectNodes(
        at place: ServerPlace, _ found: Set<[UInt8]>, _ then: @escaping (Result<[SharedNode], StoreError>) -> Void
    ) {
        scan(keys.presences, at: place, count: 1000) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let error): then(.failure(error))
            case .success((let keys, let next)):
                let all = found.union(keys)
                if let next, all.count <= 1000 { return collectNodes(at: next, all, then) }
                describe(all.sorted { $0.lexicographicallyPrecedes($1) }, then)
            }
        }
    }

    private func describe(_ keys: [[UInt8]], _ then: @escaping (Result<[SharedNode], StoreError>) -> Void) {
        var nodes: [SharedNode] = []
        var left = keys.count
        var failure: StoreError?
        guard left > 0 else { return then(.success([])) }
        for key in keys {
            servers.send(["GET".word, key], about: key) { [weak self] reply in
                guard let self else { return }
                if reply == nil { failure = unavailable }
                if let name = self.keys.node(ofPresence: key), let text = reply?.text {
                    let presence = Presence(text)
                    nodes.append(SharedNode(name: name, version: presence.version, startedAt: presence.startedAt))
                }
                left -= 1
                guard left == 0 else { return }
                then(failure.map { .failure($0) } ?? .success(nodes.sorted { $0.name < $1.name }))
            }
        }
    }
}

/// What a node says of itself: "started-at identity version".
struct Presence: Equatable {
    /// Seconds since 1970.
    let startedAt: Int64
    /// Which engine says it.
    let identity: String
    let version: String

    /// This engine's.
    init(startedAt: Int64) {
        self.startedAt = startedAt
        identity = String(UInt64.random(in: 0...UInt64.max), radix: 16)
        version = Release.version
    }

    init(_ text: String) {
        let words = text.split(separator: " ").map(String.init)
        startedAt = Int64(words.first ?? "") ?? 0
        identity = words.dropFirst().first ?? ""
        version = words.last ?? ""
    }

    var text: String { "\(startedAt) \(identity) \(version)" }
}

/// Finds out whether a name that a node goes by is another's, too. Pure.
///
/// Each node says again and again under its name that it is there, and reads what was said there last. What somebody else
/// said before a node's first word may be its own, from before it was started anew; what stands between two of its words is
/// another's. An engine that is being replaced overlaps with the next one, so once is not enough.
struct NameWatch {
    /// How often in a row somebody else has to have spoken in between.
    static let proof = 2

    let name: String
    /// Another node goes by this name.
    private(set) var isShared = false
    private var hasSpoken = false
    private var strangers = 0

    init(name: String) { self.name = name }

    /// The node has spoken, and who spoke before it was itself or not; nil: nobody, for longer than words are kept.
    /// Whether something has become known that was not.
    mutating func spoke(afterItself isOwn: Bool?) -> Bool {
        defer { hasSpoken = true }
        strangers = isOwn == false && hasSpoken ? strangers + 1 : 0
        let was = isShared
        isShared = strangers >= Self.proof
        return was != isShared
    }
}
