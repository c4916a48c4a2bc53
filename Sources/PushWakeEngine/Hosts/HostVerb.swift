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

    /// Who asks on behalf of this host executes it: not of a request that waiting legs hold.
    func isFor(_ host: UInt64) -> Bool {
        if case .handle(host, _) = request.id { !request.message.isWaitingLeg } else { false }
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
