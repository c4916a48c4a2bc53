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

        guard let (provider, environment) = service(named: name, others) else {
            if others.serves(named: name) {
                return .bind([try other(name, parameters, token: token, warnings: &warnings)])
            }
            throw TokenRules.unknownProvider(
                name, "pn-provider",
                known: "\(Provider.names(beforeLast: "or")), or set webhook_url for a service of your own")
        }
        let attributes = parameters.attributes(warnings: &warnings)
        switch provider {
        case .apns:
            let param = try AppleParam(parameters.required(.param, for: "apns"))
            return .bind(try Flexisip.bindings(param, prid: token, environment: environment, attributes: attributes))
        case .webpush:
            return .bind([try webPush(parameters, token: token, attributes: attributes, warnings: &warnings)])
        case .acrobits:
            return .bind([try AcrobitsTuple.read(parameters, token: token, attributes: attributes)])
        default:
            let isRequired = provider.row.isAppRequired
            let app = isRequired ? try parameters.required(.param, for: name) : parameters[.param] ?? ""
            if isRequired || !app.isEmpty { try TokenRules.check(app: app, from: "pn-param") }
            return .bind([
                try TokenRules.checked(
                    Binding(provider: provider, app: app, token: token, dialect: .rfc8599, attributes: attributes),
                    from: "pn-prid")
            ])
        }
    }

    /// The service behind a value of `pn-provider`, in any case; nil when it is none of ours. A frequent wrong name for one
    /// stands for it, unless the operator named a service of theirs so.
    static func service(named name: String, _ others: WebhookProviders = .none) -> (Provider, Environment)? {
        let bytes = name.utf8.span
        guard !bytes.isEmpty else { return nil }
        for provider in Provider.allCases where provider.row.isNamed {
            if bytes.equalsIgnoringCase(provider.row.name) { return (provider, .standard) }
            if bytes.equalsIgnoringCase(provider.row.sandboxName) { return (provider, .sandbox) }
        }
        for provider in Provider.allCases {
            for alias in provider.row.aliases where bytes.equalsIgnoringCase(alias) {
                return others.names.contains(alias) ? nil : (provider, .standard)
            }
        }
        return nil
    }

    /// Nobody knows what such a service needs, so `pn-param` may be missing.
    private static func other(
        _ name: String, _ parameters: PushParameters, token: String, warnings: inout [Problem]
    ) throws(Problem) -> Binding {
        let app = parameters[.param] ?? ""
        if !app.isEmpty { try TokenRules.check(app: app, from: "pn-param") }
        return try TokenRules.checked(
            Binding(
                otherService: name, app: app, token: token, dialect: .rfc8599,
                attributes: parameters.attributes(warnings: &warnings)), from: "pn-prid")
    }

    private static func webPush(
        _ parameters: PushParameters, token: String, attributes: Binding.Attributes, warnings: inout [Problem]
    ) throws(Problem) -> Binding {
        if parameters[.param] != nil {
            warnings.append(
                Problem(
                    .unusedParameter, "pn-param",
                    "is not used with webpush and was ignored (RFC 8599, 12); leave it out"))
        }
        let attributes = WebPushKeys.checked(attributes, warnings: &warnings)
        return try TokenRules.checked(
            Binding(provider: .webpush, token: token, dialect: .rfc8599, attributes: attributes), from: "pn-prid")
    }
}

/// `pn-param` of Apple's service: `TEAM.BUNDLE.SERVICE` (RFC 8599, 10).
///
/// The RFC makes whatever follows the last dot the service. Phones in the field leave the service out,
/// so only words known as services count as one; else the bundle id reaches to the end, for ordinary pushes. Tokens
/// for a watch's complication, a file provider or a walkie-talkie are kept and get nothing (`TokenUse.takesPushes`).
///
/// Mizutech's phones may leave the team out too, and send the bundle id alone. A team id is of capitals and digits
/// (Apple: ten of them), which no bundle id begins with.
struct AppleParam {
    /// Empty when the phone does not say.
    let team: String
    /// Without the service.
    let bundle: String
    /// In the order given, each once; never empty.
    let services: [TokenUse]

    init(_ text: String) throws(Problem) {
        let bytes = text.utf8.span
        var cursor = Cursor(bytes)
        var team = cursor.skip(to: ASCII.dot)
        let isTeam = !bytes.part(team).contains(where: { $0 &- 0x61 < 26 })
        guard !team.isEmpty, cursor.take(ASCII.dot), !cursor.isAtEnd else {
            throw Problem(
                .missingParameter, "pn-param",
                "names no app: send TEAM.BUNDLE.voip, the team id and bundle id of the app")
        }
        if !isTeam { team = 0..<0 }
        let rest = (isTeam ? cursor.position : 0)..<bytes.count
        var lastDot = rest.upperBound
        while lastDot > rest.lowerBound, bytes[lastDot &- 1] != ASCII.dot { lastDot &-= 1 }

        var bundle = rest
        var services = Self.remote
        if lastDot > rest.lowerBound, let named = Self.services(bytes.part(lastDot..<rest.upperBound)) {
            bundle = rest.lowerBound..<(lastDot &- 1)
            services = named
        }
        self.team = bytes.text(team)
        self.bundle = bytes.text(bundle)
        self.services = services
        if isTeam { try TokenRules.check(app: self.team, from: "pn-param") }
        try TokenRules.check(app: self.bundle, from: "pn-param")
    }

    private static let remote: [TokenUse] = [.remote]
    private static let voip: [TokenUse] = [.voip]

    /// Names of services, several of them with `&` between; nil when any other word is there.
    private static func services(_ label: Span<UInt8>) -> [TokenUse]? {
        if label.equals("voip") { return voip }
        var found: [TokenUse] = []
        var cursor = Cursor(label)
        repeat {
            let word = label.part(cursor.skip(to: ASCII.ampersand))
            // The half of a token that the phone does not have yet.
            if word.isEmpty { continue }
            guard let service = TokenUse(label: word) else { return nil }
            if !found.contains(service) { found.append(service) }
        } while cursor.take(ASCII.ampersand)
        return found.isEmpty ? nil : found
    }
}
