// SPDX-License-Identifier: MIT

/// Contact parameters that are about push; the raw values are the names in lower case.
enum PushParameterName: String {
    // RFC 8599, 8.7
    case provider = "pn-provider"
    case param = "pn-param"
    case prid = "pn-prid"
    case purr = "pn-purr"
    // Older Linphone
    case legacyType = "pn-type"
    case legacyApp = "app-id"
    case legacyToken = "pn-tok"
    // Older Mizutech
    case tokenType = "push-token-type"
    case tokenApp = "push-token-app"
    case tokenID = "push-token-id"
    // Wishes of Flexisip's phones
    case timeout = "pn-timeout"
    case silent = "pn-silent"
    case callText = "pn-call-str"
    case messageText = "pn-msg-str"
    case groupChatText = "pn-groupchat-str"
    case waitingText = "pn-mwi-str"
    case callSound = "pn-call-snd"
    case messageSound = "pn-msg-snd"
    case repeatInterval = "pn-call-remote-push-interval"
    case missedText = "pn-missing-call-str"
    case elsewhereText = "pn-call-accepted-elsewhere-str"
    case declinedText = "pn-call-declined-elsewhere-str"
    // Our own
    case selector = "pn-selector"
    case publicKey = "pn-p256dh"
    case authSecret = "pn-auth"

    /// Recognises a name in any case; nil for parameters about other things.
    init?(_ name: Span<UInt8>) {
        guard name.count >= 6, let candidates = Self.candidates(name[0]) else { return nil }
        for candidate in candidates where name.equalsIgnoringCase(candidate.rawValue) {
            self = candidate
            return
        }
        return nil
    }

    /// Says whether the value goes with the binding as a wish.
    var isWish: Bool {
        switch self {
        case .provider, .param, .prid, .purr, .legacyType, .legacyApp, .legacyToken, .tokenType, .tokenApp, .tokenID:
            false
        default: true
        }
    }

    /// Says whether the value is a number of seconds.
    var isNumber: Bool { self == .timeout || self == .repeatInterval || self == .silent }

    private static func candidates(_ first: UInt8) -> [PushParameterName]? {
        switch ASCII.lowercased(first) {
        case UInt8(ascii: "p"): names
        case UInt8(ascii: "a"): [.legacyApp]
        default: nil
        }
    }

    private static let names: [PushParameterName] = [
        .provider, .param, .prid, .purr, .legacyType, .legacyToken, .tokenType, .tokenApp, .tokenID, .timeout, .silent,
        .callText, .messageText, .groupChatText, .waitingText, .callSound, .messageSound, .repeatInterval, .missedText,
        .elsewhereText, .declinedText, .selector, .publicKey, .authSecret,
    ]
}
