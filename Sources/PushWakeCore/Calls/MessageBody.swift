// SPDX-License-Identifier: MIT

/// What the body of a MESSAGE is to a phone that sleeps.
public enum MessageBody: Equatable, Sendable {
    /// Text that its user reads.
    case text
    /// Something else that its user waits for: a file, a container.
    case other
    /// Nothing that a user waits for, and why nobody is woken.
    case notice(String)

    /// Judges by the value of Content-Type; without one it is text.
    public init(contentType: String) {
        let type = Self.mediaType(of: contentType)
        switch type {
        // RFC 3994
        case "application/im-iscomposing+xml": self = .notice("the MESSAGE only says that somebody is typing")
        // RFC 5438
        case "message/imdn+xml": self = .notice("the MESSAGE only says that another one arrived")
        default: self = type.isEmpty || type.hasPrefix("text/") ? .text : .other
        }
    }

    /// True for the Content-Type of an INVITE that brings its user into a chat room, with the list of its members
    /// (RFC 5366).
    public static func isInvitationToGroup(_ contentType: String) -> Bool {
        mediaType(of: contentType) == "application/resource-lists+xml"
    }

    /// The type in lower case and without parameters.
    private static func mediaType(of contentType: String) -> String {
        let type = contentType.utf8.prefix { $0 != UInt8(ascii: ";") }.filter { $0 != 0x20 && $0 != 0x09 }
        return String(decoding: type, as: UTF8.self).lowercased()
    }
}
