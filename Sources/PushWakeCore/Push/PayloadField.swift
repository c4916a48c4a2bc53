// SPDX-License-Identifier: MIT

/// A value that a payload template can ask for.
///
/// Each has up to two spellings: Mizutech's upper-case word and the `<name>` of Flexisip's
/// documentation, which our own templates use too.
public enum PayloadField: UInt8, Sendable, CaseIterable {
    case package, token, toUser, toURI, type, event
    case caller, fromUser, fromDisplay, fromURI, fromHost, fromLabel
    case callID, priority, notificationPriority, apnsPriority, timeToLive, pushType
    case sound, text, message, title, body
    case instance, date, chatRoom, badge, alertKey, alertSound, sentAt, expiresAt, selector
    case platform, kind, provider, certificate

    /// Stands in a template without quotes too, because it always is a number.
    public var isNumber: Bool {
        switch self {
        case .type, .apnsPriority, .timeToLive, .badge, .sentAt, .expiresAt: true
        default: false
        }
    }

    /// The field under an upper-case keyword of Mizutech's.
    init?(word: some Collection<UInt8>) {
        guard let field = Self.words.first(where: { $0.name.utf8.elementsEqual(word) })?.field else { return nil }
        self = field
    }

    /// The field under a `<name>`, brackets taken off.
    init?(name: some Collection<UInt8>) {
        guard let field = Self.names.first(where: { $0.name.utf8.elementsEqual(name) })?.field else { return nil }
        self = field
    }

    /// Mizutech's keywords.
    public static let words: [(name: String, field: PayloadField)] = [
        ("PACKAGE", .package), ("TOKEN", .token), ("TO", .toUser), ("TOUSERNAME", .toUser), ("TYPE", .type),
        ("FROM", .caller), ("FROMUSERNAME", .fromUser), ("FROMDISPLAYNAME", .fromDisplay), ("CALLID", .callID),
        ("PRIORITY", .priority), ("NPRIORITY", .notificationPriority), ("APRIORITY", .apnsPriority),
        ("TTLNUM", .timeToLive), ("PUSHTYPE", .pushType), ("SOUND", .sound), ("MSG", .text),
        ("MESSAGE", .message), ("TITLE", .title), ("BODY", .body),
    ]

    /// Names in angle brackets: Flexisip's twelve, then ours.
    public static let names: [(name: String, field: PayloadField)] = [
        ("ttl", .timeToLive), ("uid", .instance), ("from-uri", .fromURI), ("from-name", .fromDisplay),
        ("call-id", .callID), ("from", .fromLabel), ("date", .date), ("chatroom-addr", .chatRoom),
        ("badge-boolean", .badge), ("alert-msg-id", .alertKey), ("sound-id", .alertSound),
        ("device-token", .token), ("alert-sound", .alertSound),
        ("event", .event), ("type", .type), ("package", .package), ("token", .token), ("to-user", .toUser),
        ("to-uri", .toURI), ("caller", .caller), ("from-user", .fromUser), ("from-host", .fromHost),
        ("priority", .priority), ("apns-priority", .apnsPriority), ("push-type", .pushType), ("sound", .sound),
        ("text", .text), ("title", .title), ("body", .body), ("sent-at", .sentAt), ("expires-at", .expiresAt),
        ("selector", .selector), ("platform", .platform), ("kind", .kind), ("provider", .provider),
    ]

    /// Flexisip's `$name`s for a URL, where `<name>` cannot stand.
    static let dollarNames: [(name: String, field: PayloadField)] = [
        ("type", .platform), ("token", .token), ("app-id", .certificate), ("from-name", .fromDisplay),
        ("from-uri", .fromURI), ("to-uri", .toURI), ("call-id", .callID), ("event", .kind), ("sound", .alertSound),
        ("msgid", .alertKey), ("uid", .instance),
    ]

    /// The field under a `$name`, dollar sign taken off.
    init?(dollarName name: some Collection<UInt8>) {
        guard let field = Self.dollarNames.first(where: { $0.name.utf8.elementsEqual(name) })?.field else { return nil }
        self = field
    }
}
