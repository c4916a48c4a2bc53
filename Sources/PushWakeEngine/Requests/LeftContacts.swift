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
        let domain: String
        let left: [String]
        /// The phone, where it is now.
        let registration: CallRegistration
        /// Its contact as it wrote it.
        let uri: String
        /// When it registered, monotonic milliseconds.
        let at: Int64

        /// Whether it has left this contact.
        func hasLeft(_ contact: String) -> Bool { left.contains { Binding.isSame($0, as: contact) } }
    }

    private static let most = 8192
    /// More than a user has phones: who registers without end costs others no time.
    private static let mostOfUser = 32
    /// Milliseconds for which a request that its host has looked up before may be on its way.
    private static let life: Int64 = 1000

    private var users: [UserKey: [Move]] = [:]
    /// Each move that was noted, the oldest first.
    private var order = RingBuffer<(user: UserKey, at: Int64)>()

    /// A phone of this user has gone. The contact where it is now no longer counts as left.
    mutating func note(_ move: Move, of aor: String) {
        while let oldest = order.first, move.at - oldest.at > Self.life || order.count >= Self.most {
            _ = order.popFirst()
            forget(oldest.user) { $0.at <= oldest.at }
        }
        let user = UserKey(aor)
        let others = users[user, default: []].filter { !$0.hasLeft(move.uri) }
        users[user] = others.suffix(Self.mostOfUser - 1) + [move]
        order.append((user, move.at))
    }

    private mutating func forget(_ user: UserKey, where isOver: (Move) -> Bool) {
        guard let moves = users[user] else { return }
        let kept = moves.filter { !isOver($0) }
        users[user] = kept.isEmpty ? nil : kept
    }

    /// The phones that have gone from a contact of this request, whether or not it names where they are now.
    func moves(of message: WakeMessage, now: Int64) -> [Move] {
        guard !users.isEmpty, !message.contacts.isEmpty, let moves = users[UserKey(message.aor)] else { return [] }
        return moves.filter { move in
            now - move.at <= Self.life
                && (message.domain.isEmpty || move.domain.isEmpty || move.domain == message.domain)
                && message.contacts.contains { move.hasLeft($0.uri) }
        }
    }
}
