// SPDX-License-Identifier: MIT

/// The way in which a phone said what its token is.
public enum Dialect: UInt8, Sendable, CaseIterable {
    /// `pn-provider`, `pn-param`, `pn-prid` (RFC 8599).
    case rfc8599 = 1
    /// `X-MPUSH: PROVIDER:PACKAGE:TOKEN` (Mizutech).
    case mpush = 2
    /// RFC 8599 names with two tokens in one `pn-prid`, or provider `apns.dev` (Flexisip).
    case flexisip = 3
    /// `pn-type`, `app-id`, `pn-tok` (older Linphone).
    case legacyLinphone = 4
    /// `push-token-type`, `push-token-app`, `push-token-id`.
    case pushToken = 5
    /// `AppId`, `DeviceToken`, `Selector`, reported over HTTP (Acrobits).
    case acrobitsTuple = 6
    /// Nobody's: the token was given by hand, or by itself over HTTP.
    case given = 7

    /// Phones that use it always say what their Apple tokens are for.
    var namesService: Bool { self != .mpush && self != .pushToken && self != .given }

    /// The name in logs and JSON.
    public var name: String {
        switch self {
        case .rfc8599: "rfc8599"
        case .mpush: "x-mpush"
        case .flexisip: "flexisip"
        case .legacyLinphone: "linphone-legacy"
        case .pushToken: "push-token"
        case .acrobitsTuple: "acrobits"
        case .given: "given"
        }
    }
}

/// Contact parameters that are about push; the raw values are the names in lower case.
public enum PushParameterName: String, Sendable, CaseIterable {
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
    // Attributes of Flexisip's phones
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
        guard !name.isEmpty, name.count < Self.byLength.count else { return nil }
        let first = ASCII.lowercased(name[0])
        guard first == UInt8(ascii: "p") || first == UInt8(ascii: "a") else { return nil }
        for candidate in Self.byLength[name.count] where name.equalsIgnoringCase(candidate.rawValue) {
            self = candidate
            return
        }
        return nil
    }

    /// Says whether a parameter of a Contact URI is about push, whatever dialect it is of: the one list of what is
    /// stripped from contacts that others see, and of what makes no difference between two of them.
    public static func isAboutPush(_ name: Span<UInt8>) -> Bool {
        if isOfRFC8599(name) { return true }
        switch name.count {
        case 5: return name.equalsIgnoringCase("appid")
        case 6: return name.equalsIgnoringCase("app-id")
        case 7: return name.equalsIgnoringCase("x-mpush")
        case 8: return name.equalsIgnoringCase("selector")
        case 11...: return name.startsIgnoringCase(with: "push-token-") || name.equalsIgnoringCase("devicetoken")
        default: return false
        }
    }

    /// It begins with `pn-`, as nearly all of them do.
    @inline(__always)
    private static func isOfRFC8599(_ name: Span<UInt8>) -> Bool {
        name.count >= 3 && ASCII.lowercased(name[0]) == UInt8(ascii: "p")
            && ASCII.lowercased(name[1]) == UInt8(ascii: "n") && name[2] == UInt8(ascii: "-")
    }

    /// The same for a parameter with its value.
    static func isAboutPush(parameter: Span<UInt8>) -> Bool {
        if isOfRFC8599(parameter) { return true }
        var end = 0
        while end < parameter.count, parameter[end] != UInt8(ascii: "=") { end &+= 1 }
        return isAboutPush(parameter.part(0..<end))
    }

    /// Those that a token given by hand may have, by the name of the field.
    public static let givenByHand: [(field: String, name: PushParameterName)] = [
        ("selector", .selector), ("p256dh", .publicKey), ("auth", .authSecret),
    ]

    /// Says whether the value goes with the binding as an attribute.
    var isAttribute: Bool {
        switch self {
        case .provider, .param, .prid, .purr, .legacyType, .legacyApp, .legacyToken, .tokenType, .tokenApp, .tokenID:
            false
        default: true
        }
    }

    /// Attributes that only phones made for Flexisip send (liblinphone, `push-notification-config.cpp`).
    static let flexisipsOwn: [PushParameterName] = [
        .silent, .timeout, .callText, .messageText, .groupChatText, .waitingText, .callSound, .messageSound,
        .repeatInterval, .missedText, .elsewhereText, .declinedText,
    ]

    /// Says whether the value is a number of seconds.
    var isNumber: Bool { self == .timeout || self == .repeatInterval || self == .silent }

    /// By the length of the name, so that the parameters of most phones are found at the first or second try.
    private static let byLength: [[PushParameterName]] = {
        let longest = allCases.reduce(0) { max($0, $1.rawValue.utf8.count) }
        return (0...longest).map { length in allCases.filter { $0.rawValue.utf8.count == length } }
    }()
}

extension Binding {
    /// The contact URI as a registrar has it that keeps no push parameters: they are taken out,
    /// everything else is as it came.
    public var contactWithoutPushParameters: String { Self.withoutPushParameters(contact) }

    /// Whether two contact URIs are the same without them. Nearly always nothing is taken out for the answer: both are as
    /// their phone wrote them, or have another host or port.
    package static func isSame(_ a: String, as b: String) -> Bool {
        if a == b { return true }
        let (own, others) = (a.utf8Span.span, b.utf8Span.span)
        for index in 0..<min(own.count, others.count) {
            let (byte, other) = (own[index], others[index])
            if byte == ASCII.semicolon || other == ASCII.semicolon { break }
            if byte != other { return false }
        }
        return withoutPushParameters(a) == withoutPushParameters(b)
    }

    /// The same for any contact URI.
    public static func withoutPushParameters(_ contact: String) -> String {
        let bytes = contact.utf8Span.span
        let parameters = SIPURI(bytes, in: 0..<bytes.count).parameters
        var kept: [UInt8] = []
        // Everything before is kept already.
        var done = 0
        var cursor = Cursor(bytes, in: parameters)
        while cursor.take(ASCII.semicolon) {
            let parameter = cursor.skip { $0 != ASCII.semicolon && $0 != ASCII.question }
            guard PushParameterName.isAboutPush(parameter: bytes.part(parameter)) else { continue }
            let start = parameter.lowerBound &- 1
            // They stand behind one another, as a rule.
            if done < start {
                if kept.isEmpty { kept.reserveCapacity(bytes.count) }
                bytes.part(done..<start).append(to: &kept)
            }
            done = parameter.upperBound
        }
        guard done > 0 else { return contact }
        if done < bytes.count { bytes.part(done..<bytes.count).append(to: &kept) }
        return String(decoding: kept, as: UTF8.self)
    }
}
