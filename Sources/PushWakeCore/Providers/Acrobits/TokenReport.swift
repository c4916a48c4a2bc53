// SPDX-License-Identifier: MIT

/// A token that an app reports over HTTP instead of in a REGISTER.
///
/// Acrobits' Push Token Reporter and Account Removal Reporter fill in a template of the operator's own
/// (doc.acrobits.net, "Push Token Reporter"); the names here are those of its variables, and those that templates in the
/// field use for them.
public struct TokenReport: Equatable, Sendable {
    /// What names the account on the device; empty when it was not reported.
    public let selector: String
    /// One binding, or one for calls and one for everything else. Their users and times are still to be set.
    public let bindings: [Binding]

    /// Names under which the values of a report may come, the variable's own first.
    public enum Name {
        public static let selector = ["selector", "Selector"]
        public static let callToken = ["pushTokenIncomingCall", "token_calls"]
        public static let callApp = ["pushappid_incoming_call", "appId_calls"]
        public static let otherToken = ["pushTokenOther", "token_msgs"]
        public static let otherApp = ["pushappid_other", "appId_msgs"]
        public static let token = ["pushToken", "DeviceToken"]
        public static let app = ["pushappid", "AppId"]
    }

    /// Bytes of a selector; Acrobits' have 49.
    private static let longestSelector = 256

    /// Reads a report; `value` gives the first value that is there under some names, and nil for empty ones.
    ///
    /// iOS has a pair for calls and one for the rest since iOS 13, Android the same pair twice, or one pair alone.
    public init(acrobits value: ([String]) -> String?) throws(Problem) {
        selector = value(Name.selector) ?? ""
        guard selector.utf8.count <= Self.longestSelector, !selector.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F })
        else { throw Problem(.badToken, "selector", "is not what the app has as %selector%; send that") }
        let calls = try Self.pair(value, Name.callToken, Name.callApp)
        let others = try Self.pair(value, Name.otherToken, Name.otherApp)
        let single = try Self.pair(value, Name.token, Name.app)
        guard let first = calls ?? single ?? others else {
            throw Problem(
                .missingParameter, "pushToken",
                "is missing; report %pushTokenIncomingCall% with %pushappid_incoming_call%, and %pushTokenOther% with %pushappid_other%"
            )
        }
        let second = others ?? single ?? first
        let instance = Self.instance(of: selector, first.token)
        var made: [Binding] = []
        if first == second {
            made.append(try Self.binding(first, selector, instance, nil))
        } else {
            made.append(try Self.binding(first, selector, instance, .voip))
            made.append(try Self.binding(second, selector, instance, .remote))
        }
        bindings = made
    }

    /// What bindings of a reported account have in place of a `+sip.instance`. The whole tuple names a device ("SIPIS-less push
    /// calls"): another token under the same selector may be that of another device, and both stay until their service or
    /// the app says otherwise.
    private static func instance(of selector: String, _ token: String) -> String {
        guard !selector.isEmpty else { return "" }
        var digits: [UInt8] = []
        Fingerprint.appendHex(of: token, to: &digits)
        return "\(madeInstance)\(selector):\(String(decoding: digits, as: UTF8.self))"
    }

    private static let madeInstance = "acrobits:"

    /// Nothing but its token is known of the device: no Contact, and no instance that a REGISTER could name.
    static func hasOnlyTokens(_ binding: Binding) -> Bool {
        binding.contact.isEmpty && (binding.instance.isEmpty || binding.instance.hasPrefix(madeInstance))
    }

    private struct Pair: Equatable {
        let token: String
        let app: String
    }

    private static func pair(
        _ value: ([String]) -> String?, _ tokenNames: [String], _ appNames: [String]
    ) throws(Problem) -> Pair? {
        guard let token = value(tokenNames) else { return nil }
        guard let app = value(appNames) else {
            throw Problem(.missingParameter, appNames[0], "is missing; report it with %\(tokenNames[0])%")
        }
        return Pair(token: token, app: app)
    }

    private static func binding(
        _ pair: Pair, _ selector: String, _ instance: String, _ service: TokenUse?
    ) throws(Problem) -> Binding {
        var binding = try AcrobitsTuple.binding(appID: pair.app, deviceToken: pair.token, selector: selector)
        binding.service = service
        binding.instance = instance
        return binding
    }
}

extension TokenReport {
    /// A binding of any push service that is reported by itself: the same checks as of what a REGISTER says. `instance` and
    /// `contact` are empty where they are not known.
    public static func binding(
        _ provider: Provider, _ environment: Environment, app: String, token: String, service: TokenUse?,
        attributes: Binding.Attributes, instance: String = "", contact: String = ""
    ) throws(Problem) -> Binding {
        try TokenRules.check(text: instance, from: "instance", atMost: SIPLimits.longestName)
        try TokenRules.check(text: contact, from: "contact", atMost: SIPLimits.longestHeader)
        for attribute in attributes.entries {
            try TokenRules.check(text: attribute.value, from: attribute.name, atMost: SIPLimits.longestAttribute)
        }
        var made = try bareBinding(
            provider, environment, app: app, token: token, service: service, attributes: attributes)
        (made.instance, made.contact) = (instance, contact)
        return made
    }

    private static func bareBinding(
        _ provider: Provider, _ environment: Environment, app: String, token: String, service: TokenUse?,
        attributes: Binding.Attributes
    ) throws(Problem) -> Binding {
        if provider == .acrobits {
            var made = try AcrobitsTuple.binding(
                appID: app, deviceToken: token, selector: attributes[.selector] ?? "", attributes: attributes)
            made.service = service
            return made
        }
        if provider != .webpush || !app.isEmpty { try TokenRules.check(app: app, from: "app") }
        return try TokenRules.checked(
            Binding(
                provider: provider, environment: environment, app: app, service: service, token: token, dialect: .given,
                attributes: attributes), from: "token")
    }
}
