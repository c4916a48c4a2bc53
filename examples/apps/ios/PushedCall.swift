// SPDX-License-Identifier: MIT

import CryptoKit
import Foundation

/// A call as a push announces it: the payload "plain" of PushWake.
struct PushedCall: Equatable {
    let callID: String
    /// Names the call in CallKit, whether push or INVITE comes first.
    let uuid: UUID
    /// Number or name of the caller's account; empty when it is withheld.
    let number: String
    let name: String
    let hasVideo: Bool
    /// After this nobody waits for the phone any more.
    let expiresAt: Date

    /// Nil for a push without a call. Apple wants a call reported all the same (`CallController`).
    init?(_ payload: [AnyHashable: Any]) {
        guard let callID = payload["call-id"] as? String, !callID.isEmpty else { return nil }
        self.callID = callID
        uuid = Self.uuid(ofCall: callID)
        number = payload["from-user"] as? String ?? ""
        name = payload["display-name"] as? String ?? ""
        hasVideo = payload["has_video"] as? Bool ?? false
        expiresAt = Date(timeIntervalSince1970: payload["expires-at"] as? Double ?? 0)
    }

    /// Of an INVITE: its Call-ID, or X-Push-ID where it has one.
    static func uuid(ofCall callID: String) -> UUID {
        let space = UUID(uuidString: "345198a0-fbeb-40ca-a578-6948d80653dd")!
        let name = withUnsafeBytes(of: space.uuid) { Data($0) } + Data(callID.utf8)
        var digest = Array(Insecure.SHA1.hash(data: name).prefix(16))
        digest[6] = digest[6] & 0x0F | 0x50
        digest[8] = digest[8] & 0x3F | 0x80
        return UUID(uuid: digest.withUnsafeBytes { $0.load(as: uuid_t.self) })
    }
}
