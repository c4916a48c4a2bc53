// SPDX-License-Identifier: MIT

/// What servers say instead of doing what they were asked (errors of RESP), and which of them say so to everybody. Pure.
struct ServerErrors {
    /// Words about one key, one slot or one command: the next may fare better. Rights are tried (`ServerRights`).
    private static let aboutOne: Set<String> = ["WRONGTYPE", "ERR", "TRYAGAIN", "ASK", "MOVED", "NOPERM"]
    /// Milliseconds for which a server's word is not said again, whatever it did in between.
    private static let pause: Int64 = 60_000

    private struct Entry {
        let word: String
        let error: StoreError
    }

    /// Why a server takes no changes, by its name.
    private var errors: [String: Entry] = [:]
    private var saidAt: [String: Int64] = [:]

    /// Why one of these takes no changes; nil while all do.
    func error(of servers: [String]) -> StoreError? { servers.lazy.compactMap { errors[$0]?.error }.first }

    /// Some server takes no changes.
    var isAny: Bool { !errors.isEmpty }

    /// This one takes no changes.
    func has(_ server: String) -> Bool { errors[server] != nil }

    /// What an error of a server means; `isNew` when it is worth a line.
    mutating func note(
        _ text: String, by server: String, _ address: String, now: Int64
    ) -> (error: StoreError, isNew: Bool) {
        let word = String(text.prefix { $0 != " " })
        let full = server.isEmpty ? "\(address): \(text)" : "\(address): \(server): \(text)"
        let error: StoreError = word == "OOM" ? .full(full) : .unusable(full)
        let isKnown = errors[server]?.word == word
        if !Self.isAboutOne(text) { errors[server] = Entry(word: word, error: error) }
        let key = "\(server) \(word)"
        let wasSaid = saidAt[key].map { now - $0 < Self.pause } ?? false
        if !isKnown && !wasSaid {
            saidAt = saidAt.filter { now - $0.value < Self.pause }
            saidAt[key] = now
        }
        return (error, !isKnown && !wasSaid)
    }

    /// It says nothing of the server as a whole.
    static func isAboutOne(_ text: String) -> Bool {
        aboutOne.contains(String(text.prefix { $0 != " " })) || text.hasPrefix("CLUSTERDOWN Hash slot")
    }

    /// A server has taken a change.
    mutating func end(_ server: String) { errors[server] = nil }
}
