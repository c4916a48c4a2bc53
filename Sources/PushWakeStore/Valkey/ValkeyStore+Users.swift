// SPDX-License-Identifier: MIT

public import PushWakeCore

/// All users, some at a time.
extension ValkeyStore {
    public func users(
        after cursor: String, beginning: String, limit: Int,
        then: @escaping (Result<(aors: [String], next: String?), StoreError>) -> Void
    ) {
        // The server looks at so many keys, and few of them begin so.
        let count = beginning.isEmpty ? max(limit, 1) : Self.keysPerSearch
        scan(keys.images(beginning: beginning), at: ServerPlace(cursor), count: count) { [weak self] result in
            guard let self else { return }
            then(result.map { found, next in (found.compactMap { self.keys.aor(ofImage: $0) }, next?.text) })
        }
    }

    private static let keysPerSearch = 1000

    /// Some keys of one server, and where to go on: there, or at the next.
    func scan(
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

    /// Reads what `text` gave; any other is the beginning.
    init(_ text: String) {
        let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = words.first, UInt64(first) != nil else { return }
        cursor = String(first)
        server = words.count > 1 ? String(words[1]) : ""
    }

    /// As one cursor.
    var text: String { server.map { $0.isEmpty ? cursor : "\(cursor) \($0)" } ?? cursor }
}

/// Whose tokens are. Users are found by their names alone, so each token has a key that says who registered it last.
extension ValkeyStore {
    /// One command: of two nodes that say so at once, one hears of the other's user. It lasts for as long as the binding may,
    /// and for as long as it may go without being said again.
    public func noteUser(of binding: Binding, then: @escaping (_ other: String?) -> Void) {
        let life = binding.forgetAt.subtractingSaturating(binding.registeredAt)
            .addingSaturating(BindingLimits.tokenNotePeriod)
        askUser(of: binding, then) {
            ["SET".word, $0, binding.aor.word, "EX".word, "\(min(max(life, 1), 1 << 40))".word, "GET".word]
        }
    }

    public func user(ofTokenOf binding: Binding, then: @escaping (_ other: String?) -> Void) {
        askUser(of: binding, then) { ["GET".word, $0] }
    }

    private func askUser(
        of binding: Binding, _ then: @escaping (_ other: String?) -> Void, _ words: (_ key: [UInt8]) -> [[UInt8]]
    ) {
        let key = keys.tokenUser(Fingerprint.of(binding.token))
        guard servers.isResponsive(about: key, within: options.timeout) else { return then(nil) }
        servers.send(words(key), about: key) { [weak self] reply in
            if case .error(let text)? = reply { _ = self?.failure(text, about: key) }
            let other = reply?.text
            then(other?.isSameBytes(as: binding.aor) == true ? nil : other)
        }
    }
}
