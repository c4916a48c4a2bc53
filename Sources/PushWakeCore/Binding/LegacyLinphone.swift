// SPDX-License-Identifier: MIT

/// The form of older Linphone apps: `pn-type`, `app-id`, `pn-tok`.
///
/// With Apple the end of `app-id` says more: `.dev` and `.prod` name the environment, `.voip` before
/// them a PushKit token.
enum LegacyLinphone {
    /// Reads a Contact that has `pn-type` or `pn-tok`.
    static func read(
        _ parameters: PushParameters, others: WebhookProviders, warnings: inout [Problem]
    ) throws(Problem) -> PushRequest {
        if parameters.isNull(.legacyToken) { return .unbind }
        let type = try parameters.required(.legacyType, for: "pn-tok")
        let token = try parameters.required(.legacyToken, for: "pn-type")
        let app = try parameters.required(.legacyApp, for: "pn-type")
        let attributes = parameters.attributes(warnings: &warnings)

        guard let provider = provider(named: type) else {
            if others.serves(named: type) {
                try TokenRules.check(app: app, from: "app-id")
                return .bind([
                    try TokenRules.checked(
                        Binding(
                            otherService: type, app: app, token: token, dialect: .legacyLinphone,
                            attributes: attributes), from: "pn-tok")
                ])
            }
            throw TokenRules.unknownProvider(type, "pn-type", known: "apple, android, firebase or google")
        }
        var binding = Binding(
            provider: provider, app: app, token: token, dialect: .legacyLinphone, attributes: attributes)
        if provider == .apns { readSuffixes(of: app, into: &binding) }
        try TokenRules.check(app: binding.app, from: "app-id")
        return .bind([try TokenRules.checked(binding, from: "pn-tok")])
    }

    private static func provider(named type: String) -> Provider? {
        let bytes = type.utf8.span
        for name in ["apple", "apns", "ios"] where bytes.equalsIgnoringCase(name) { return .apns }
        for name in ["android", "firebase", "google", "fcm"] where bytes.equalsIgnoringCase(name) { return .fcm }
        return nil
    }

    private static func readSuffixes(of app: String, into binding: inout Binding) {
        var bundle = app[...]
        if bundle.hasSuffix(".dev") {
            binding.environment = .sandbox
            bundle = bundle.dropLast(4)
        } else if bundle.hasSuffix(".prod") {
            binding.environment = .production
            bundle = bundle.dropLast(5)
        }
        binding.service = .remote
        if bundle.hasSuffix(".voip") {
            binding.service = .voip
            bundle = bundle.dropLast(5)
        }
        binding.app = String(bundle)
    }
}
