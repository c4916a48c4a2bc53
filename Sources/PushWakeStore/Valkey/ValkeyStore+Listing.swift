// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

/// Who is there: users and nodes.
extension ValkeyStore {
    /// Seconds for which a node that says nothing more counts as there.
    private static let presence = 15

    /// Says again and again that this node is there.
    func sayPresent() {
        guard !options.node.isEmpty else { return }
        let value = "\(startedAt) \(Release.version)"
        let key = keys.presence(options.node)
        servers.send(["SET".word, key, value.word, "EX".word, "\(Self.presence)".word], about: key) { _ in }
        guard !isPresenceDue else { return }
        isPresenceDue = true
        loop.schedule(after: Int64(Self.presence) * 1000 / 3) { [weak self] in
            guard let self else { return }
            isPresenceDue = false
            sayPresent()
        }
    }

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
                    let words = text.split(separator: " ")
                    nodes.append(
                        SharedNode(
                            name: name, version: String(words.last ?? ""), startedAt: Int64(words.first ?? "") ?? 0))
                }
                left -= 1
                guard left == 0 else { return }
                then(failure.map { .failure($0) } ?? .success(nodes.sorted { $0.name < $1.name }))
            }
        }
    }

    public func users(
        after cursor: String, limit: Int, then: @escaping (Result<(aors: [String], next: String?), StoreError>) -> Void
    ) {
        scan(keys.images, at: ServerPlace(cursor), count: max(limit, 1)) { [weak self] result in
            guard let self else { return }
            then(result.map { found, next in (found.compactMap { self.keys.aor(ofImage: $0) }, next?.text) })
        }
    }

    /// Some keys of one server, and where to go on: there, or at the next.
    private func scan(
        _ pattern: [UInt8], at place: ServerPlace, count: Int,
        _ then: @escaping (Result<(keys: [[UInt8]], next: ServerPlace?), StoreError>) -> Void
    ) {
        let names = servers.names
        guard let index = place.server.map({ names.firstIndex(of: $0) }) ?? names.indices.first else {
            guard place.server != nil, !names.isEmpty else { return then(.failure(unavailable)) }
            return then(.failure(.unusable("\(access.address): a replica has taken over meanwhile; ask again")))
        }
        let command = ["SCAN".word, place.cursor.word, "MATCH".word, pattern, "COUNT".word, "\(count)".word]
        servers.send(command, to: names[index]) { [weak self] reply in
            guard let self else { return }
            guard let elements = reply?.elements, elements.count == 2, let next = elements[0].text else {
                return then(.failure(unavailable))
            }
            let isLast = index + 1 == names.count
            let following =
                next == "0"
                ? (isLast ? nil : ServerPlace(cursor: "0", server: names[index + 1]))
                : ServerPlace(cursor: next, server: names[index])
            then(.success((elements[1].elements.compactMap(\.bulk), following)))
        }
    }
}

/// Where a walk over all keys has come to: a cursor of SCAN, and whose it is.
struct ServerPlace: Equatable {
    var cursor = "0"
    /// Nil: the first one's.
    var server: String?

    /// The beginning.
    init() {}

    init(cursor: String, server: String) {
        self.cursor = cursor
        self.server = server
    }

    /// Reads what `text` gave; empty for the beginning.
    init(_ text: String) {
        guard !text.isEmpty else { return }
        let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        cursor = words.first.map(String.init) ?? "0"
        server = words.count > 1 ? String(words[1]) : ""
    }

    /// As one cursor.
    var text: String { server.map { $0.isEmpty ? cursor : "\(cursor) \($0)" } ?? cursor }
}
