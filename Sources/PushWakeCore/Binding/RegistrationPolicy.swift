// SPDX-License-Identifier: MIT

/// Which REGISTERs are answered 555 or 423.
public struct RefusalRules: Equatable, Sendable {
    /// A phone whose push service is not served is refused.
    public let sends555: Bool
    /// Seconds; 0: no interval is too short.
    public let minExpires: Int

    /// Takes both.
    public init(sends555: Bool, minExpires: Int) { (self.sends555, self.minExpires) = (sends555, minExpires) }

    /// As the settings say.
    public init(_ settings: Settings) {
        self.init(sends555: settings.flag(.send555), minExpires: Int(settings.integer(.minExpires)))
    }

    /// Without any nobody needs to read a REGISTER before it is saved.
    public var areAny: Bool { sends555 || minExpires > 0 }
}

/// What the settings make of a REGISTER.
///
/// An object, and never changed: what is asked of it for each REGISTER is asked without a copy.
public final class RegistrationPolicy: Sendable {
    /// A reply other than the registrar's own.
    public struct Rejection: Equatable, Sendable {
        /// 555 or 423.
        public let code: Int
        /// Reason phrase of the reply.
        public let reason: String
        /// For 423, seconds.
        public let minExpires: Int
    }

    /// Seconds before its end at which a phone that said `+sip.pnsreg` shall refresh (RFC 8599, 8.4: more than 120).
    public static let refreshLead: UInt32 = 121

    private let supported: ProviderSet
    private let minExpires: Int
    /// Seconds that a registration has to last so that a push can refresh it; 0 when none does.
    private let shortestRefreshed: Int64
    private let webPush: WebPushSettings
    /// The public point in base64url that phones are told; empty without one.
    public let vapidKey: String
    /// What FlexiAPI serves.
    public let flexiAPI: FlexiAPIApps
    /// What a webhook serves.
    public let others: WebhookProviders

    /// Only who writes Feature-Caps needs `vapidKey`.
    public init(settings: Settings, vapidKey: String = "") {
        self.vapidKey = vapidKey
        var supported = ProviderSet(Provider.allCases.filter { $0.row.isNamed && $0.row.isSet(settings) })
        flexiAPI = FlexiAPIApps(settings)
        others = WebhookProviders(settings)
        for provider in others.known { supported.insert(provider) }
        self.supported = supported
        minExpires = Int(settings.integer(.minExpires))
        shortestRefreshed = settings.refreshedLife
        webPush = WebPushSettings(settings)
    }

    /// Whether pushes to this binding's provider are set up at all, may go where it leads, and are what its token is for.
    public func supports(_ binding: Binding) -> Bool {
        if let service = binding.service, !service.takesPushes { return false }
        return others.serves(binding) || flexiAPI.serves(binding)
            || supported.contains(binding.provider) && isAllowed(binding)
    }

    /// A subscription names the host that it leads to.
    private func isAllowed(_ binding: Binding) -> Bool {
        binding.provider != .webpush || (try? WebPushRequest.target(of: binding.token, webPush)) != nil
    }

    /// Why pushes to this binding cannot be sent, and the remedy; nil when they can. `provider` and `token` are the parameters
    /// that it came in.
    public func objection(to binding: Binding, provider parameter: String = "provider", token: String = "token")
        -> String?
    {
        if supports(binding) { return nil }
        if let service = binding.service, !service.takesPushes {
            return "pn-param: a token for \(service.name) takes neither calls nor messages; send one for voip or remote"
        }
        guard supported.contains(binding.provider) else {
            return
                "\(parameter): pushes through \(binding.providerName) are not set up here; set \(binding.provider.row.remedy)"
        }
        return "\(token): \(webPush.objection(to: binding.token))"
    }

    /// Tokens that shall be stored: of contacts that stay registered, for providers that are set up.
    public func usable(_ contact: RegisteredContact, of registration: Registration) -> [Binding] {
        guard !registration.isPushedUpstream, !registration.isRemoval(contact) else { return [] }
        let bindings = contact.bindings
        // As a rule all of them: no list is made anew.
        return bindings.allSatisfy { supports($0) } ? bindings : bindings.filter { supports($0) }
    }

    /// What is wrong, in words for the log: what the reader found, and providers that are not set up.
    public func problems(of registration: Registration) -> [String] {
        var lines = registration.problems.map { "\($0.parameter): \($0.message)" }
        guard !registration.isPushedUpstream else { return lines }
        for contact in registration.contacts { problems(of: contact, &lines) }
        return lines
    }

    private func problems(of contact: RegisteredContact, _ lines: inout [String]) {
        for binding in contact.bindings {
            let isHeader = binding.dialect == .mpush
            guard
                let line = objection(
                    to: binding, provider: isHeader ? "X-MPUSH" : "pn-provider", token: isHeader ? "X-MPUSH" : "pn-prid"
                )
            else { continue }
            if !lines.contains(line) { lines.append(line) }
        }
    }

    /// The reply that must go out instead of the registrar's; nil when there is none.
    public func refusal(of registration: Registration, by rules: RefusalRules) -> Rejection? {
        guard !registration.isPushedUpstream, !registration.isRemoval else { return nil }
        let wanted = registration.contacts.filter { $0.push != .none }
        if rules.sends555 && !wanted.isEmpty {
            let isServed = wanted.contains { contact in
                if case .query(let name) = contact.push { return !offers(for: name).isEmpty }
                return !usable(contact, of: registration).isEmpty || contact.push == .unbind
            }
            let isUnsupported = registration.lacksSupport || registration.problems.allSatisfy(\.isWarning)
            if !isServed && isUnsupported {
                return Rejection(code: 555, reason: "Push Notification Service Not Supported", minExpires: 0)
            }
        }
        let isTooShort = wanted.contains { contact in
            guard !usable(contact, of: registration).isEmpty else { return false }
            return registration.requestedExpires(of: contact).map { Int($0) < rules.minExpires } ?? false
        }
        return isTooShort ? Rejection(code: 423, reason: "Interval Too Brief", minExpires: rules.minExpires) : nil
    }

    /// The registrar granted less than a phone must ask for, or than a push can refresh: it is promised nothing (RFC 8599,
    /// 5.6.1.1). `granted` in seconds, 0 and less when not known.
    public func isTooShort(granted: Int64) -> Bool {
        granted > 0 && granted < max(Int64(minExpires), shortestRefreshed)
    }

    /// Feature-Caps header lines for the 200 (RFC 8599, 5.6.1): one per service, each with its CRLF.
    /// `stored` tells which providers' tokens are in the store now, `purrs` what the phone is told for its dialogs, `brief`
    /// which of its contacts were granted too little: a service is not promised for some of them only.
    public func featureCaps(
        of registration: Registration, stored: ProviderSet, purrs: [Provider: PURR] = [:], brief: [Int] = []
    ) -> [String] {
        guard !registration.isPushedUpstream else { return [] }
        var stored = stored
        for index in brief { for binding in registration.contacts[index].bindings { stored.remove(binding.provider) } }
        var lines: [String] = []
        func add(_ caps: FeatureCaps) {
            let line = caps.line
            if !line.isEmpty, !lines.contains(line) { lines.append(line) }
        }
        for (index, contact) in registration.contacts.enumerated() where !brief.contains(index) {
            switch contact.push {
            case .bind(let bindings):
                guard !contact.providerName.isEmpty, let binding = bindings.first, stored.contains(binding.provider),
                    !registration.isRemoval(contact), bindings.contains(where: { supports($0) })
                else { continue }
                let lead = contact.refreshesItself ? Self.refreshLead : nil
                let key = binding.provider == .webpush ? vapidKey : ""
                add(
                    FeatureCaps(
                        provider: contact.providerName, vapidKey: key, refreshLead: lead,
                        purr: purrs[binding.provider]?.text ?? ""))
            case .query(let name):
                for offer in offers(for: name) {
                    add(FeatureCaps(provider: offer, vapidKey: offer == Provider.webpush.name ? vapidKey : ""))
                }
            case .none, .unbind, .unusable: break
            }
        }
        return lines
    }

    /// Services to name in answer to a query; an empty name asks for all.
    private func offers(for name: String) -> [String] {
        var offered = supported
        for provider in flexiAPI.providers { offered.insert(provider) }
        let known = Provider.allCases.filter(offered.contains).map(\.name)
        if name.isEmpty { return known + others.names }
        let wanted = name.lowercased()
        if known.contains(wanted) { return [wanted] }
        if let (provider, _) = RFC8599.service(named: wanted, others), offered.contains(provider) { return [name] }
        return others.serves(named: wanted) ? [name] : []
    }
}

/// Some of the push services, in one word: asked for each REGISTER, and a hash costs more.
public struct ProviderSet: Equatable, Sendable, ExpressibleByArrayLiteral {
    private var bits: UInt64 = 0

    /// Takes a list, in any order.
    public init(_ providers: some Sequence<Provider>) { for provider in providers { insert(provider) } }

    /// Takes a list as it is written.
    public init(arrayLiteral providers: Provider...) { self.init(providers) }

    /// Whether it is one of them.
    public func contains(_ provider: Provider) -> Bool { bits & Self.bit(of: provider) != 0 }

    /// Makes it one of them.
    public mutating func insert(_ provider: Provider) { bits |= Self.bit(of: provider) }

    /// Makes it none of them.
    public mutating func remove(_ provider: Provider) { bits &= ~Self.bit(of: provider) }

    private static func bit(of provider: Provider) -> UInt64 { 1 << UInt64(provider.rawValue & 63) }
}
