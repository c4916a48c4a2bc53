// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// What the user lacks of the rights that docs/nodes.md prints, as trials find out (ACL). Pure.
struct ServerRights {
    static let remedy = "give its user the rights that docs/nodes.md has (ACL)"
    /// Without any other, users can be stored and read, if not all that follows from it.
    private static let lesser: Set<String> = [
        "+del", "+eval", "+scan", "+publish", "+spublish", "+subscribe", "+ssubscribe", "+asking",
    ]
    /// The connection that listens.
    private static let listening = "listening"

    /// By server; empty where a trial found nothing.
    private var lacking: [String: Set<String>] = [:]
    private var underWay: Set<String> = []
    /// What has led to a trial.
    private var denials: [String: String] = [:]
    private var said: Set<String> = []

    /// A server that refuses a user something.
    static func isDenial(_ text: String) -> Bool {
        text.hasPrefix("NOPERM") || text.contains(": NOPERM ") || text.contains("user executing the script can't")
            || text.contains("ACL failure in script")
    }

    /// Which right a denial is about: that to the command, or to names of keys or channels.
    static func right(of command: String, _ text: String, prefix: String) -> String {
        guard text.contains("access") else { return "+\(command.lowercased())" }
        return text.contains("channel") ? "&\(prefix):*" : "~\(prefix):*"
    }

    /// This server denies something.
    func isLacking(_ server: String) -> Bool { lacking[server]?.isEmpty == false }

    /// Why nothing can be stored at one of these.
    func error(of servers: [String], _ address: String) -> StoreError? {
        let all = servers.reduce(into: Set<String>()) { $0.formUnion(lacking[$1] ?? []) }
        let grave = all.filter { !Self.lesser.contains($0) && !$0.hasPrefix("&") }
        return grave.isEmpty ? nil : .unusable("\(address): \(Self.text(grave))")
    }

    /// A trial begins; false when one is under way there.
    mutating func begin(_ server: String) -> Bool { underWay.insert(server).inserted }

    /// A server has denied something, which only a trial explains.
    mutating func note(denial text: String, by server: String) { denials[server] = text }

    /// What a trial found; nil when it could not be finished. The denial that it does not explain comes back.
    mutating func end(_ server: String, lacking found: Set<String>?) -> String? {
        underWay.remove(server)
        let denial = denials.removeValue(forKey: server)
        guard let found else { return nil }
        lacking[server] = found
        return found.isEmpty ? denial : nil
    }

    /// The connection that listens may not, or may again.
    mutating func listens(lacking right: String?) { lacking[Self.listening] = right.map { [$0] } ?? [] }

    /// What is to be said, once for each change; of servers that are no more nothing is.
    mutating func notice(_ servers: [String]) -> (isWarning: Bool, text: String)? {
        lacking = lacking.filter { servers.contains($0.key) || $0.key == Self.listening }
        let all = lacking.values.reduce(into: Set<String>()) { $0.formUnion($1) }
        guard all != said else { return nil }
        said = all
        return all.isEmpty ? (false, "its user has all rights now") : (true, Self.text(all))
    }

    private static func text(_ rights: Set<String>) -> String {
        "its user lacks \(rights.sorted().joined(separator: ", ")): \(remedy)"
    }
}
