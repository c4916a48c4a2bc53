// SPDX-License-Identifier: MIT

/// Which built-in payload goes where: one for all, and others for single providers or apps.
public struct PayloadFamilies: Equatable, Sendable {
    /// A rule for one provider, or for one of its apps.
    public struct Exception: Equatable, Sendable {
        /// One of `providers`.
        public let provider: Provider
        /// Bundle id, package or project; empty for all.
        public let app: String
        public let rule: PayloadRule
    }

    /// What a setting says wrongly.
    public struct Mistake: Error, Equatable, Sendable {
        /// What to write instead.
        public let remedy: String
    }

    /// Providers whose payloads are templates; the others have a form of their own.
    public static let providers = [Provider.apns, .fcm, .webpush]

    /// For whatever is not an exception.
    public private(set) var usual: PayloadRule
    /// In the order given.
    public private(set) var exceptions: [Exception] = []

    /// The same for all.
    public init(_ usual: PayloadRule) { self.usual = usual }

    /// Reads `auto, fcm=mizutech, apns.com.example.phone=flexisip`; without a first name `auto` is the usual one.
    public init(setting: String) throws(Mistake) {
        self.init(.auto)
        for (number, part) in setting.split(separator: ",", omittingEmptySubsequences: false).enumerated() {
            let sides = part.split(separator: "=", omittingEmptySubsequences: false).map(Self.trimmed)
            if sides.count == 1, number == 0 {
                usual = try Self.rule(sides[0])
            } else {
                guard sides.count == 2 else {
                    throw Mistake(remedy: "write one payload for all, then PROVIDER=PAYLOAD or PROVIDER.APP=PAYLOAD")
                }
                exceptions.append(try Self.exception(sides[0], try Self.rule(sides[1])))
            }
        }
    }

    private static func exception(_ target: Substring, _ rule: PayloadRule) throws(Mistake) -> Exception {
        for provider in Self.providers {
            if target == provider.name { return Exception(provider: provider, app: "", rule: rule) }
            if target.hasPrefix("\(provider.name)."), target.utf8.count > provider.name.utf8.count + 1 {
                let app = String(target.dropFirst(provider.name.count + 1))
                return Exception(provider: provider, app: app, rule: rule)
            }
        }
        throw Mistake(
            remedy: "before = write apns, fcm or webpush, or one of their apps such as apns.com.example.phone")
    }

    private static func rule(_ name: Substring) throws(Mistake) -> PayloadRule {
        guard let rule = PayloadRule(name: String(name)) else {
            throw Mistake(remedy: "write one of \(PayloadRule.names.joined(separator: ", "))")
        }
        return rule
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var rest = text.drop { $0 == " " || $0 == "\t" }
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return rest
    }
}

/// How a built-in payload is chosen.
public enum PayloadRule: Equatable, Sendable {
    /// By what the phone's REGISTER said (`PayloadSign`).
    case auto
    /// This one for every phone.
    case fixed(BuiltInPayloads.Family)

    static let names = ["auto"] + BuiltInPayloads.Family.allCases.map(\.rawValue)

    init?(name: String) {
        if name == "auto" {
            self = .auto
        } else if let family = BuiltInPayloads.Family(rawValue: name) {
            self = .fixed(family)
        } else {
            return nil
        }
    }

    /// All that it may come to, in the order of the cases.
    var families: [BuiltInPayloads.Family] {
        switch self {
        case .auto: BuiltInPayloads.Family.allCases
        case .fixed(let family): [family]
        }
    }
}

/// What in a REGISTER shows whose app it is from, and with that which payload the app understands.
///
/// The User-Agent is no sign: apps name themselves. Each sign is kept with the binding, as its dialect or an attribute.
public enum PayloadSign: Equatable, Sendable {
    /// `X-MPUSH`, also beside `pn-…`.
    case mpush
    /// `push-token-…`.
    case pushToken
    /// Tokens with labels, two of them, or provider `apns.dev`.
    case flexisipTokens
    /// `pn-type`, `app-id`, `pn-tok`.
    case legacyLinphone
    /// An attribute that only Flexisip's phones send.
    case attribute(PushParameterName)
    /// None of these.
    case none

    /// Reads what is kept with a binding.
    public init(of binding: Binding) {
        switch binding.dialect {
        case .mpush: self = .mpush
        case .pushToken: self = .pushToken
        case .flexisip: self = .flexisipTokens
        case .legacyLinphone: self = .legacyLinphone
        case .acrobitsTuple, .given: self = .none
        case .rfc8599: self = Self.sign(in: binding.attributes)
        }
    }

    private static func sign(in attributes: Binding.Attributes) -> PayloadSign {
        if attributes.isEmpty { return .none }
        if attributes[MPush.attribute] != nil { return .mpush }
        return PushParameterName.flexisipsOwn.first { attributes[$0] != nil }.map { .attribute($0) } ?? .none
    }

    /// The payload that such an app understands.
    public var family: BuiltInPayloads.Family {
        switch self {
        case .mpush, .pushToken: .mizutech
        case .flexisipTokens, .legacyLinphone, .attribute: .flexisip
        case .none: .plain
        }
    }

    /// What was seen, for people.
    public var words: String {
        switch self {
        case .mpush: "the phone sent X-MPUSH"
        case .pushToken: "the phone sent push-token-type"
        case .flexisipTokens: "its token is labelled, or of apns.dev"
        case .legacyLinphone: "the phone sent pn-type"
        case .attribute(let name): "the phone sent \(name.rawValue)"
        case .none: "the phone sent nothing that only Linphone's or Mizutech's apps send"
        }
    }
}
