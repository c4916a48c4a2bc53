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
        link.send(["SET".word, keys.presence(options.node), value.word, "EX".word, "\(Self.presence)".word]) { _ in
        }
        guard !isPresenceDue else { return }
        isPresenceDue = true
        loop.schedule(after: Int64(Self.presence) * 1000 / 3) { [weak self] in
            guard let self else { return }
            isPresenceDue = false
            sayPresent()
        }
    }

    public func nodes(then: @escaping (Result<[SharedNode], StoreError>) -> Void) {
        collectNodes(after: "0", [], then)
    }

    private func collectNodes(
        after cursor: String, _ found: Set<[UInt8]>, _ then: @escaping (Result<[SharedNode], StoreError>) -> Void
    ) {
        link.send(["SCAN".word, cursor.word, "MATCH".word, keys.presences, "COUNT".word, "1000".word]) {
            [weak self] reply in
            guard let self else { return }
            guard let elements = reply?.elements, elements.count == 2, let next = elements[0].text else {
                return then(.failure(unavailable))
            }
            let all = found.union(elements[1].elements.compactMap(\.bulk))
            guard next == "0" || all.count > 1000 else { return collectNodes(after: next, all, then) }
            guard !all.isEmpty else { return then(.success([])) }
            let keys = all.sorted { $0.lexicographicallyPrecedes($1) }
            link.send(["MGET".word] + keys) { [weak self] reply in
                guard let self else { return }
                guard let reply else { return then(.failure(unavailable)) }
                then(
                    .success(
                        zip(keys, reply.elements).compactMap { key, value in
                            guard let name = self.keys.node(ofPresence: key), let text = value.text else { return nil }
                            let words = text.split(separator: " ")
                            return SharedNode(
                                name: name, version: String(words.last ?? ""), startedAt: Int64(words.first ?? "") ?? 0)
                        }))
            }
        }
    }

    public func users(
        after cursor: String, limit: Int, then: @escaping (Result<(aors: [String], next: String?), StoreError>) -> Void
    ) {
        let place = cursor.isEmpty ? "0" : cursor
        link.send(
            ["SCAN".word, place.word, "MATCH".word, keys.images, "COUNT".word, "\(max(limit, 1))".word]
        ) { [weak self] reply in
            guard let self else { return }
            guard let elements = reply?.elements, elements.count == 2, let next = elements[0].text else {
                return then(.failure(unavailable))
            }
            let aors = elements[1].elements.compactMap { $0.bulk.flatMap { self.keys.aor(ofImage: $0) } }
            then(.success((aors, next == "0" ? nil : next)))
        }
    }
}
