// SPDX-License-Identifier: MIT

/// Words in a template that look like keywords and are none.
public enum PayloadKeywords {
    /// Each `<name>` that nobody knows, and each upper-case word that is nearly one of Mizutech's: it goes out as it
    /// stands. Other upper-case words may well be meant, such as the name of an action.
    public static func unknown(in template: [UInt8]) -> [PayloadTemplateError] {
        let source = TemplateText.withoutTail(template)
        var found: [PayloadTemplateError] = []
        var index = 0
        var isInString = false
        while index < source.count {
            let byte = source[index]
            defer { index += 1 }
            if byte == UInt8(ascii: "\\"), isInString {
                index += 1
                continue
            }
            if byte == UInt8(ascii: "\"") { isInString.toggle() }
            if let (_, length) = TemplateText.keyword(in: source, at: index) {
                index += length - 1
                continue
            }
            if let name = bracketed(in: source, at: index) {
                found.append(error("<\(name)>", PayloadField.names.map(\.name), name, { "<\($0)>" }, index, source))
                index += name.utf8.count + 1
                continue
            }
            let length = TemplateText.wordLength(in: source, at: index)
            guard length > 0 else { continue }
            let word = String(decoding: source[index..<(index + length)], as: UTF8.self)
            if word.utf8.count > 3, PayloadField.words.contains(where: { EditDistance.between($0.name, word) == 1 }) {
                found.append(error(word, PayloadField.words.map(\.name), word, { $0 }, index, source))
            }
            index += length - 1
        }
        return found
    }

    /// Each `$name` that nobody knows, in a text that is not JSON.
    public static func unknownDollarNames(in text: String) -> [String] {
        let source = Array(text.utf8)
        var found: [String] = []
        for index in source.indices where source[index] == UInt8(ascii: "$") {
            guard TemplateText.dollarName(in: source, at: index) == nil else { continue }
            let name = source[(index + 1)...].prefix {
                $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
            let word = "$" + String(decoding: name, as: UTF8.self)
            if !name.isEmpty, !found.contains(word) { found.append(word) }
        }
        return found
    }

    /// All `$name`s, for people.
    public static var dollarNames: String {
        PayloadField.dollarNames.map { "$\($0.name)" }.joined(separator: ", ")
    }

    /// What stands between angle brackets and could be a name.
    private static func bracketed(in source: [UInt8], at index: Int) -> String? {
        guard source[index] == UInt8(ascii: "<") else { return nil }
        let name = source[(index + 1)...].prefix { $0 >= 0x61 && $0 <= 0x7A || $0 == UInt8(ascii: "-") }
        guard !name.isEmpty, name.count <= 32, name.endIndex < source.endIndex,
            source[name.endIndex] == UInt8(ascii: ">")
        else { return nil }
        return String(decoding: name, as: UTF8.self)
    }

    private static func error(
        _ text: String, _ known: [String], _ word: String, _ written: (String) -> String, _ index: Int,
        _ source: [UInt8]
    ) -> PayloadTemplateError {
        let near = known.min { EditDistance.between($0, word) < EditDistance.between($1, word) }
        let hint = near.flatMap { EditDistance.between($0, word) <= 3 ? "; did you mean \(written($0))?" : nil }
        return PayloadTemplateError(
            "\(text) is not a keyword and goes out as it stands\(hint ?? "; docs/payloads.md lists them all")",
            at: index,
            in: source)
    }
}

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
    case platform, kind, provider, certificate, mutableContent, mutableNotice, navigate, media, video
    case fromTag, legacyKey, callUUID, callSound

    /// Stands in a template without quotes too, because it always is a number, or `true` or `false`.
    public var isLiteral: Bool {
        switch self {
        case .type, .apnsPriority, .timeToLive, .badge, .sentAt, .expiresAt, .mutableContent, .mutableNotice, .video:
            true
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
        ("mutable-content", .mutableContent), ("mutable-notice", .mutableNotice), ("navigate", .navigate),
        ("media", .media), ("video", .video), ("call-uuid", .callUUID), ("call-sound", .callSound),
    ]

    /// Flexisip's `$name`s for a URL, where `<name>` cannot stand.
    static let dollarNames: [(name: String, field: PayloadField)] = [
        ("type", .platform), ("token", .token), ("app-id", .certificate), ("from-name", .fromDisplay),
        ("from-uri", .fromURI), ("to-uri", .toURI), ("call-id", .callID), ("event", .kind), ("sound", .alertSound),
        ("msgid", .alertKey), ("uid", .instance), ("from-tag", .fromTag), ("api-key", .legacyKey),
    ]

    /// The field under a `$name`, dollar sign taken off.
    init?(dollarName name: some Collection<UInt8>) {
        guard let field = Self.dollarNames.first(where: { $0.name.utf8.elementsEqual(name) })?.field else { return nil }
        self = field
    }
}
