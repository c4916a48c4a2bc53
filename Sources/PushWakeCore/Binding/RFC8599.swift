// SPDX-License-Identifier: MIT

/// The standard dialect: `pn-provider`, `pn-param`, `pn-prid` (RFC 8599, 4.1.1 and 10 to 12).
///
/// The RFC knows them in the Contact URI only; `PushParameters` says why they are read elsewhere too.
enum RFC8599 {
    /// Reads a Contact that has `pn-provider` or `pn-prid`.
    static func read(
        _ parameters: PushParameters, others: WebhookProviders, warnings: inout [Problem]
    ) throws(Problem) -> PushRequest {
        if parameters.isNull(.prid) { return .unbind }
        let name = parameters[.provider] ?? ""
        let token = parameters[.prid] ?? ""
        if token.isEmpty {
            guard name.utf8.count <= SIPLimits.longestName else {
                throw TokenRules.tooLong(PushParameterName.provider.rawValue, SIPLimits.longestName)
            }
            return .query(provider: name)
        }
        guard !name.isEmpty else {
            throw Problem(
                .missingParameter, "pn-provider", "is missing: pn-prid alone does not say which service it is of")
        }

        guard let (provider, environment) = service(named: name) else {
            if others.serves(named: name) {
                return .bind([try other(name, parameters, token: token, warnings: &warnings)])
            }
            throw TokenRules.unknownProvider(name, "pn-provider", known: "apns, apns.dev, fcm, webpush or acrobits")
        }
        let wishes = parameters.wishes(warnings: &warnings)
        switch provider {
        case .apns:
            let param = try AppleParam(parameters.required(.param, for: "apns"))
            return .bind(try Flexisip.bindings(param, prid: token, environment: environment, wishes: wishes))
        case .webpush:
            return .bind([try webPush(parameters, token: token, wishes: wishes, warnings: &warnings)])
        case .acrobits:
            return .bind([try AcrobitsTuple.read(parameters, token: token, wishes: wishes)])
        case .fcm, .webhook:
            let app = try parameters.required(.param, for: name)
            try TokenRules.check(app: app, from: "pn-param")
            try TokenRules.check(token: token, of: provider, from: "pn-prid")
            return .bind([Binding(provider: provider, app: app, token: token, dialect: .rfc8599, wishes: wishes)])
        }
    }

    /// The service behind a value of `pn-provider`, in any case; nil when it is none of ours.
    static func service(named name: String) -> (Provider, Environment)? {
        let bytes = name.utf8.span
        switch bytes.count {
        case 3 where bytes.equalsIgnoringCase("fcm"): return (.fcm, .standard)
        case 4 where bytes.equalsIgnoringCase("apns"): return (.apns, .standard)
        case 7 where bytes.equalsIgnoringCase("webpush"): return (.webpush, .standard)
        case 8 where bytes.equalsIgnoringCase("apns.dev"): return (.apns, .sandbox)
        case 8 where bytes.equalsIgnoringCase("acrobits"): return (.acrobits, .standard)
        default: return nil
        }
    }

    /// Nobody knows what such a service needs, so `pn-param` may be missing.
    private static func other(
        _ name: String, _ parameters: PushParameters, token: String, warnings: inout [Problem]
    ) throws(Problem) -> Binding {
        let app = parameters[.param] ?? ""
        if !app.isEmpty { try TokenRules.check(app: app, from: "pn-param") }
        try TokenRules.check(token: token, of: .webhook, from: "pn-prid")
        return Binding(
            otherService: name, app: app, token: token, dialect: .rfc8599,
            wishes: parameters.wishes(warnings: &warnings))
    }

    private static func webPush(
        _ parameters: PushParameters, token: String, wishes: Binding.Wishes, warnings: inout [Problem]
    ) throws(Problem) -> Binding {
        if parameters[.param] != nil {
            warnings.append(
                Problem(
                    .unusedParameter, "pn-param",
                    "is not used with webpush and was ignored (RFC 8599, 12); leave it out"))
        }
        try TokenRules.check(token: token, of: .webpush, from: "pn-prid")
        let wishes = WebPushKeys.checked(wishes, warnings: &warnings)
        return Binding(provider: .webpush, token: token, dialect: .rfc8599, wishes: wishes)
    }
}
