// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore

/// A verb on its way to the host that holds the request; raw kinds are `enum pushwake_verb_kind`.
final class HostVerb {
    /// What is to be done.
    enum Kind: Int {
        case ring = 1
        case resend = 2
        case hold = 3
        case giveUp = 4
        case showEnd = 5
        case pushed = 6
        case tell = 7
        case close = 8

        /// A phone or a caller waits for it. That a push was sent they need not hear at once.
        var isUrgent: Bool { self != .pushed && self != .tell }
    }

    let kind: Kind
    let request: HeldRequest
    var leg = 0
    /// A leg; of `hold` and `giveUp` a number that is higher than those before, of the same request and engine.
    var replaces = 0
    var status = 0
    var milliseconds: Int64 = 0
    var contact = ""
    var reason = ""

    init(_ kind: Kind, _ request: HeldRequest) {
        self.kind = kind
        self.request = request
    }

    /// Writes it as fields of a message.
    func encode(into writer: inout MessageWriter) {
        writer.put(.verb, kind.rawValue)
        if case .handle(_, let handle) = request.id { writer.put(.handle, Int64(bitPattern: handle)) }
        writer.put(.aor, request.message.aor)
        writer.put(.domain, request.message.domain)
        if leg != 0 { writer.put(.leg, leg) }
        if replaces != 0 { writer.put(.replaces, replaces) }
        if status != 0 { writer.put(.status, status) }
        if milliseconds != 0 { writer.put(.milliseconds, milliseconds) }
        if !contact.isEmpty { writer.put(.contactKey, contact) }
        if !reason.isEmpty { writer.put(.reason, reason) }
        if kind == .ring, let elsewhere = request.elsewhere[contact] {
            writer.put(.contactURI, elsewhere.uri)
            if !elsewhere.route.isEmpty { writer.put(.contactPath, elsewhere.route) }
            if !elsewhere.flow.isEmpty { writer.put(.contactFlow, elsewhere.flow) }
        }
        guard kind == .showEnd else { return }
        writer.put(.callID, request.message.callID)
        writer.put(.cseq, Int(request.message.cseq))
        writer.put(.fromURI, request.message.fromURI)
        writer.put(.fromTag, request.message.fromTag)
        writer.put(.toURI, request.message.toURI)
    }
}

/// Verbs for hosts whose supervisor is not connected: it follows its workers within milliseconds when an engine starts,
/// or when a connection was lost.
struct UnsentVerbs {
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
