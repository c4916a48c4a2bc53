// SPDX-License-Identifier: MIT

/// What stands in settings that want the name of a file with a secret, and is no name: the secret itself, as it seems.
/// Nothing that is written for people may repeat it.
public struct PastedSecrets: Equatable, Sendable {
    /// What is written in place of one.
    private static let substitute = "the value (write the name of a file, not what is in it)"
    private static let keys: [SettingKey] = [
        .apnsKey, .apnsCert, .apnsCertPasswordFile, .fcmKey, .vapidKey, .harmonyOSKey, .flexiAPIKeyFile,
        .storePasswordFile, .webhookSecretFile, .httpProxyAuth, .httpKey, .httpCert,
        .httpTokenFile, .httpUsers, .fastAGITokenFile, .secretKeyFile,
    ]
    /// Bytes that no secret of use goes below; a shorter value is a word that may stand in any text.
    private static let shortest = 8
    private let values: [String]

    /// Looks at the values alone; whether there are such files is not asked.
    public init(_ settings: Settings) {
        let all = Self.keys.map { settings.text($0) } + settings.fcmAccounts.map(\.file)
        // The longest first: a short one may be part of it.
        values = all.filter { $0.utf8.count >= Self.shortest && !Self.isName($0) }.sorted {
            $0.utf8.count > $1.utf8.count
        }
    }

    /// The text without any of them.
    public func hide(in text: String) -> String {
        values.reduce(text) { Self.replace($1, in: $0) }
    }

    /// Whether it reads like the name of a file: from the root or the directory in use, or with an ending.
    static func isName(_ value: String) -> Bool {
        if value.isEmpty { return true }
        // Of an endpoint's longest file name (NAME_MAX) and directories above it.
        guard value.utf8.count <= 512, !value.utf8.contains(UInt8(ascii: "{")) else { return false }
        if value.hasPrefix("-----") { return false }
        if value.hasPrefix("/") || value.hasPrefix("./") || value.hasPrefix("../") || value.hasPrefix("~/") {
            return true
        }
        guard let dot = value.utf8.lastIndex(of: UInt8(ascii: ".")) else { return false }
        let ending = value.utf8[value.utf8.index(after: dot)...]
        return (2...8).contains(ending.count) && ending.allSatisfy(isNameCharacter)
            && value.utf8.allSatisfy { isNameCharacter($0) || $0 == UInt8(ascii: "/") }
    }

    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        byte >= 0x30 && byte <= 0x39 || (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }

    /// By bytes: no Foundation, and a value may hold any.
    private static func replace(_ value: String, in text: String) -> String {
        let (needle, hay) = (Array(value.utf8), Array(text.utf8))
        guard !needle.isEmpty, hay.count >= needle.count else { return text }
        var out: [UInt8] = []
        var index = 0
        while index < hay.count {
            if hay.count - index >= needle.count, hay[index] == needle[0],
                hay[index..<(index + needle.count)].elementsEqual(needle)
            {
                out += substitute.utf8
                index += needle.count
            } else {
                out.append(hay[index])
                index += 1
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
