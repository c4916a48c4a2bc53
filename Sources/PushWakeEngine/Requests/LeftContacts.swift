// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore

/// Contacts that phones have left a moment ago for another one.
///
/// A host that looked for the contacts of a request before such a REGISTER, and is heard after it, names the contact that
/// the phone has left, and not the one where it is.
struct LeftContacts {
    /// A phone that has gone from some contacts to another one.
    struct Move {
        let aor: String
        let domain: String
        /// Without push parameters.
        let left: [String]
        /// The phone, where it is now.
        let registration: CallRegistration
        /// Its contact as it wrote it.
        let uri: String
        /// When it registered, monotonic milliseconds.
        let at: Int64

        /// Whether it has left this contact.
        func hasLeft(_ contact: WakeMessage.Contact) -> Bool {
            left.contains(Binding.withoutPushParameters(contact.uri))
        }
    }

    private static let most = 256
    /// Milliseconds for which a request that its host has looked up before may be on its way.
    private static let life: Int64 = 1000

    private var moves: [Move] = []

    /// A phone has gone. The contact where it is now no longer counts as left.
    mutating func note(_ move: Move) {
        let uri = Binding.withoutPushParameters(move.uri)
        moves.removeAll { move.at - $0.at > Self.life || ($0.aor == move.aor && $0.left.contains(uri)) }
        if moves.count < Self.most { moves.append(move) }
    }

    /// The phones that have gone from a contact of this request, whether or not it names where they are now.
    func moves(of message: WakeMessage, now: Int64) -> [Move] {
        guard !moves.isEmpty, !message.contacts.isEmpty else { return [] }
        return moves.filter { move in
            now - move.at <= Self.life && move.aor == message.aor
                && (message.domain.isEmpty || move.domain.isEmpty || move.domain == message.domain)
                && message.contacts.contains(where: move.hasLeft)
        }
    }
}
