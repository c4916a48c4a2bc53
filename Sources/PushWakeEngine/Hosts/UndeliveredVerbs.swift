// SPDX-License-Identifier: MIT

/// Verbs for hosts whose supervisor is not connected: it follows its workers within milliseconds when an engine starts,
/// or when a connection was lost.
struct UndeliveredVerbs {
    private static let mostMessages = 1024
    private static let mostHosts = 8
    /// Milliseconds after which nobody needs them.
    private static let life: Int64 = 10_000

    private var hosts: [UInt64: (since: Int64, messages: [[UInt8]])] = [:]

    /// Keeps a message until its host subscribes.
    mutating func keep(_ message: [UInt8], for host: UInt64, now: Int64) {
        hosts = hosts.filter { now - $0.value.since < Self.life }
        guard hosts[host] != nil || hosts.count < Self.mostHosts else { return }
        var kept = hosts[host] ?? (now, [])
        if kept.messages.count < Self.mostMessages { kept.messages.append(message) }
        hosts[host] = kept
    }

    /// What was kept for a host, in order.
    mutating func take(for host: UInt64, now: Int64) -> [[UInt8]] {
        guard let kept = hosts.removeValue(forKey: host), now - kept.since < Self.life else { return [] }
        return kept.messages
    }
}
