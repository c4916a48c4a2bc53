// SPDX-License-Identifier: MIT

/// All payload templates of an engine, compiled: one set per provider, and more for single apps.
public struct PayloadLibrary: Sendable {
    /// What becomes of FCM's `notification` sections (Mizutech's `fcm_removenotification`).
    ///
    /// A message with such a section goes to the system tray and wakes no app.
    public enum NotificationRule: Sendable {
        /// Kept for what is to be read (chat, custom, missed call, invitation), removed otherwise.
        case automatic
        case keep
        case remove
    }

    private let rule: NotificationRule
    private var standard: [Provider: Payloads] = [:]
    private var ofApp: [Provider: [String: Payloads]] = [:]

    /// Compiles one built-in family for all; `flexisipCompatible` adds Flexisip's misspelt `form-uri` to its FCM data,
    /// and with `isDeclarative` Web Push tells the browser itself what to show (W3C Push API, "declarative push message").
    public init(
        _ family: BuiltInPayloads.Family = .plain, notifications rule: NotificationRule = .automatic,
        flexisipCompatible: Bool = false, isDeclarative: Bool = false
    ) throws(PayloadTemplateError) {
        try self.init(
            PayloadFamilies(.fixed(family)), notifications: rule, flexisipCompatible: flexisipCompatible,
            isDeclarative: isDeclarative)
    }

    /// Compiles built-in families for all, for providers and for apps.
    public init(
        _ families: PayloadFamilies, notifications rule: NotificationRule = .automatic,
        flexisipCompatible: Bool = false, isDeclarative: Bool = false
    ) throws(PayloadTemplateError) {
        self.rule = rule
        let unwanted: Set<String> = flexisipCompatible ? [] : ["message.android.data.form-uri"]
        for provider in PayloadFamilies.providers {
            standard[provider] = try Payloads(families.usual, provider, dropping: unwanted, isDeclarative)
        }
        for exception in families.exceptions {
            put(
                try Payloads(exception.rule, exception.provider, dropping: unwanted, isDeclarative),
                for: exception.provider, app: exception.app)
        }
    }

    /// Replaces the payload of a provider, or of one app of it, by a template of the operator's own; of Apple's
    /// push types only `type`, if given.
    public mutating func load(
        _ source: [UInt8], for provider: Provider, app: String = "", type: APNsPushType? = nil
    ) throws(PayloadTemplateError) {
        if provider == .apns, let type {
            guard var payloads = payloads(.apns, Self.key(app, of: .apns)) else { return }
            try payloads.replace(type, by: source)
            return put(payloads, for: provider, app: app)
        }
        put(Payloads(own: try Variants(provider, dropping: []) { _, _ in source }), for: provider, app: app)
    }

    /// Replaces the payload of a provider by a built-in one.
    public mutating func use(
        _ family: BuiltInPayloads.Family, for provider: Provider
    ) throws(PayloadTemplateError) {
        standard[provider] = try Payloads(.fixed(family), provider, dropping: [], false)
    }

    private mutating func put(_ payloads: Payloads, for provider: Provider, app: String) {
        if app.isEmpty {
            standard[provider] = payloads
        } else {
            ofApp[provider, default: [:]][Self.key(app, of: provider)] = payloads
        }
    }

    /// Some phones put `.voip` behind their bundle id: it is the same app.
    private static func key(_ app: String, of provider: Provider) -> String {
        provider == .apns ? String(APNsTopic.bundle(of: app)) : app
    }

    /// The template for a push through Apple. `family` is what the phone's app understands; a fixed payload and an own
    /// template are the same for all.
    public func apns(
        app: String, _ type: APNsPushType, for family: BuiltInPayloads.Family = .plain
    ) -> PayloadTemplate? {
        payloads(.apns, Self.key(app, of: .apns))?.variants(for: family).apns(type)
    }

    /// The template for a push through Google.
    public func fcm(
        app: String, _ event: PushEvent, _ platform: FCMPlatform, for family: BuiltInPayloads.Family = .plain
    ) -> PayloadTemplate? {
        payloads(.fcm, app)?.variants(for: family).fcm(platform, event, keepsNotification: keepsNotification(event))
    }

    /// The template for an encrypted Web Push, which is the same for all families. Of what is to be read it may be one that
    /// browsers show by themselves, which takes a title.
    public func webPush(app: String, _ event: PushEvent = .call, hasTitle: Bool = true) -> PayloadTemplate? {
        payloads(.webpush, app)?.variants(for: .plain).webPush(event, hasTitle: hasTitle)
    }

    private func payloads(_ provider: Provider, _ app: String) -> Payloads? {
        if let own = ofApp[provider]?[app] { return own }
        return standard[provider]
    }

    private func keepsNotification(_ event: PushEvent) -> Bool {
        switch rule {
        case .keep: return true
        case .remove: return false
        case .automatic:
            switch event {
            case .chat, .custom, .missed, .groupChat, .voicemail: return true
            case .call, .cancel, .refresh, .answeredElsewhere, .refer: return false
            }
        }
    }
}

extension PayloadLibrary {
    /// What a phone's pushes carry, and why.
    public struct Choice: Equatable, Sendable {
        /// A built-in payload, `own` for a template of the operator's own, or `fixed` where there is one form alone.
        public let payload: String
        /// In words.
        public let reason: String

        public init(payload: String, reason: String) {
            self.payload = payload
            self.reason = reason
        }
    }

    /// Says what the pushes of a phone carry.
    public func choice(for binding: Binding, webhook: WebhookProviders, flexiAPI: FlexiAPIApps) -> Choice {
        if webhook.serves(binding) { return Choice(payload: "own", reason: "webhook_body says so") }
        if flexiAPI.serves(binding) { return Choice(payload: "fixed", reason: "FlexiAPI composes the push") }
        guard binding.provider != .webpush, PayloadFamilies.providers.contains(binding.provider) else {
            return Choice(payload: "fixed", reason: "\(binding.providerName) has one form")
        }
        let app = Self.key(binding.app, of: binding.provider)
        return payloads(binding.provider, app)?.choice(for: binding)
            ?? Choice(payload: "", reason: "there is no template for \(binding.provider.name)")
    }

    /// The payloads of a provider or of an app.
    private struct Payloads: Sendable {
        private enum Source: Equatable, Sendable {
            case builtIn(PayloadRule)
            case own
        }

        private let source: Source
        /// One for all phones, or one for each family, where the phone decides.
        private var byFamily: [Variants]

        init(own variants: Variants) { (source, byFamily) = (.own, [variants]) }

        init(
            _ rule: PayloadRule, _ provider: Provider, dropping unwanted: Set<String>, _ isDeclarative: Bool
        ) throws(PayloadTemplateError) {
            source = .builtIn(rule)
            byFamily = []
            for family in rule.families {
                byFamily.append(
                    try Variants(provider, dropping: unwanted, isDeclarative) { type, platform in
                        Array(BuiltInPayloads.source(family, provider, type, platform).utf8)
                    })
            }
        }

        func variants(for family: BuiltInPayloads.Family) -> Variants {
            byFamily.count == 1 ? byFamily[0] : byFamily[family.place]
        }

        mutating func replace(_ type: APNsPushType, by source: [UInt8]) throws(PayloadTemplateError) {
            for index in byFamily.indices { try byFamily[index].replace(type, by: source) }
        }

        func choice(for binding: Binding) -> Choice {
            switch source {
            case .own: return Choice(payload: "own", reason: "template_dir has a file for it")
            case .builtIn(.fixed(let family)): return Choice(payload: family.rawValue, reason: "payload says so")
            case .builtIn(.auto):
                let sign = PayloadSign(of: binding)
                return Choice(payload: sign.family.rawValue, reason: sign.words)
            }
        }
    }

    /// One template text, compiled for each use with the sections left out that the use must not have.
    private struct Variants: Sendable {
        private var templates: [PayloadTemplate]

        private static let shown: Set<String> = ["aps.alert", "aps.sound", "aps.badge", "aps.mutable-content"]
        private static let shownBehindFCM = Set(shown.map { "message.apns.payload.\($0)" })
        private static let notification: Set<String> = ["message.notification", "message.android.notification"]

        /// Place of FCM's template behind the two for each platform.
        private static let silent = FCMPlatform.allCases.count * 2

        init(
            _ provider: Provider, dropping unwanted: Set<String>, _ isDeclarative: Bool = false,
            source: (APNsPushType, FCMPlatform) -> [UInt8]
        ) throws(PayloadTemplateError) {
            var templates: [PayloadTemplate] = []
            switch provider {
            case .apns:
                for type in APNsPushType.allCases {
                    // Mizutech's `headers` are fields that PushWake sets itself, and a silent push with an alert
                    // is an error.
                    let text = source(type, .ios)
                    let silent = type == .background && text == source(.alert, .ios)
                    let sections = unwanted.union(["headers"]).union(silent ? Self.shown : [])
                    templates.append(try PayloadTemplate(json: text, rules: PayloadRules(dropped: sections)))
                }
            case .fcm:
                for platform in FCMPlatform.allCases {
                    for sections in [[], Self.notification] {
                        let foreign = platform.foreignSections.union(unwanted).union(sections)
                        templates.append(
                            try PayloadTemplate(json: source(.alert, platform), rules: .fcm(dropping: foreign)))
                    }
                }
                let sections = FCMPlatform.ios.foreignSections.union(Self.notification).union(Self.shownBehindFCM)
                templates.append(
                    try PayloadTemplate(json: source(.background, .ios), rules: .fcm(dropping: sections)))
            default:
                templates.append(
                    try PayloadTemplate(json: source(.alert, .android), rules: PayloadRules(dropped: unwanted)))
                if provider == .webpush, isDeclarative {
                    templates.append(try PayloadTemplate(json: BuiltInPayloads.declarative.utf8))
                }
            }
            self.templates = templates
        }

        /// Replaces what one of Apple's push types carries. The text is for this type alone, so no section is unwanted.
        mutating func replace(_ type: APNsPushType, by source: [UInt8]) throws(PayloadTemplateError) {
            let template = try PayloadTemplate(json: source, rules: PayloadRules(dropped: ["headers"]))
            let index = Int(type.rawValue)
            if templates.indices.contains(index) { templates[index] = template }
        }

        func webPush(_ event: PushEvent, hasTitle: Bool) -> PayloadTemplate? {
            switch event {
            case .chat, .groupChat, .missed: hasTitle ? templates.last : templates.first
            default: templates.first
            }
        }

        func apns(_ type: APNsPushType) -> PayloadTemplate? { template(Int(type.rawValue)) }

        func fcm(_ platform: FCMPlatform, _ event: PushEvent, keepsNotification: Bool) -> PayloadTemplate? {
            // An iPhone is asked to register again without a word to its user.
            if platform == .ios, event == .refresh { return template(Self.silent) }
            return template(Int(platform.rawValue) * 2 + (keepsNotification ? 0 : 1))
        }

        private func template(_ index: Int) -> PayloadTemplate? {
            templates.indices.contains(index) ? templates[index] : nil
        }
    }
}
