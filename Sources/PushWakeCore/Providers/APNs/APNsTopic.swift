// SPDX-License-Identifier: MIT

/// How `apns-topic` comes about (Mizutech's `pushnotification_topic`).
public enum APNsTopic: Equatable, Sendable {
    /// The bundle id that the phone sent, with `.voip` for a voip push.
    case automatic
    /// None: only a certificate with a single topic can do without.
    case omitted
    /// The bundle id, never with a suffix.
    case package
    /// The same for every push.
    case fixed(String)

    /// Reads a setting: empty or `set`, `null`, `packagename`, or the topic itself.
    public init(setting: String) {
        switch setting {
        case "", "set": self = .automatic
        case "null": self = .omitted
        case "packagename": self = .package
        default: self = .fixed(setting)
        }
    }

    /// Whether it can stand in a header field.
    public var isSendable: Bool {
        if case .fixed(let topic) = self { HeaderText.isFieldValue(topic) } else { true }
    }

    /// What Apple would refuse pushes for, and what to write; nil when nothing is known to be wrong.
    public var mistake: String? {
        guard case .fixed(let topic) = self else { return nil }
        let bundle = Self.bundle(of: topic)
        guard bundle.endIndex == topic.endIndex else {
            return
                "\"\(topic.prefix(80))\" would be the topic of messages too, and Apple refuses them (DeviceTokenNotForTopic); leave apns_topic empty: calls to a PushKit token get .voip by themselves"
        }
        guard topic.utf8.allSatisfy(Self.isInBundles) else {
            return
                "\"\(topic.prefix(80))\" has characters that no bundle id has; write one such as com.example.phone, or leave apns_topic empty"
        }
        let parts = topic.split(separator: ".", maxSplits: 1)
        guard parts.count == 2, parts[0].utf8.count == 10,
            parts[0].utf8.allSatisfy({ $0 >= 0x41 && $0 <= 0x5A || $0 >= 0x30 && $0 <= 0x39 })
        else { return nil }
        return
            "\"\(parts[0])\" is a team id, which is not a part of a topic; write \(parts[1].prefix(80)), or leave apns_topic empty"
    }

    private static func isInBundles(_ byte: UInt8) -> Bool {
        byte >= 0x30 && byte <= 0x39 || (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A
            || [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_")].contains(byte)
    }

    /// The topic for one push; nil for none.
    func value(for app: String, _ type: APNsPushType) -> String? {
        switch self {
        case .automatic:
            type == .voip ? "\(Self.bundle(of: app)).voip" : String(Self.bundle(of: app))
        case .omitted: nil
        case .package: String(Self.bundle(of: app))
        case .fixed(let topic): topic
        }
    }

    /// The bundle id without the `.voip` that some phones put behind it.
    static func bundle(of app: String) -> Substring {
        app.utf8.count > 5 && app.hasSuffix(".voip") ? app.dropLast(5) : app[...]
    }
}

/// Apple's list of topics in a certificate: a SEQUENCE of strings, each with a SEQUENCE behind it that names
/// kinds of push. DER as in X.690, 8 and 10.
enum APNsTopicList {
    /// More than Apple ever puts into one certificate.
    private static let mostTopics = 256

    /// The topics; what is no such list has none.
    static func topics(inDER bytes: [UInt8]) -> [String] {
        var topics: [String] = []
        var rest = bytes[...]
        if let (tag, content, _) = element(rest), tag == Tag.sequence { rest = content }
        while topics.count < mostTopics, let (tag, content, after) = element(rest) {
            if Tag.strings.contains(tag) { topics.append(String(decoding: content, as: UTF8.self)) }
            rest = after
        }
        return topics
    }

    private enum Tag {
        static let sequence: UInt8 = 0x30
        /// UTF8String, PrintableString, IA5String, VisibleString.
        static let strings: [UInt8] = [0x0C, 0x13, 0x16, 0x1A]
    }

    /// The first element: its tag, its content, and what follows it; nil when the bytes are not whole.
    private static func element(
        _ bytes: ArraySlice<UInt8>
    ) -> (tag: UInt8, content: ArraySlice<UInt8>, after: ArraySlice<UInt8>)? {
        var rest = bytes
        guard let tag = rest.popFirst(), let first = rest.popFirst() else { return nil }
        var length = Int(first)
        if first & 0x80 != 0 {
            // The long form; three bytes reach 16 MB.
            let count = Int(first & 0x7F)
            guard count > 0, count <= 3, rest.count >= count else { return nil }
            length = 0
            for _ in 0..<count { length = length << 8 | Int(rest.popFirst() ?? 0) }
        }
        guard rest.count >= length else { return nil }
        return (tag, rest.prefix(length), rest.dropFirst(length))
    }
}
