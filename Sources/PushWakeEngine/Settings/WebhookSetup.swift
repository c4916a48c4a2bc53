// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// The webhook that the settings and their files describe, compiled.
struct WebhookSetup {
    let request: WebhookRequest
    let answers: WebhookAnswers
    let providers: WebhookProviders
    /// What signs the requests; empty when they are not signed.
    let secret: [UInt8]
    let allowsLocal: Bool
    /// The method says that a second copy changes nothing (RFC 9110, 9.2.2).
    let isIdempotent: Bool
    /// Fields whose values only the server may see, lower case.
    let secretFields: Set<String>

    /// Nil when no webhook is set.
    static func load(_ settings: Settings) throws(SettingError) -> WebhookSetup? {
        guard !settings.text(.webhookURL).isEmpty else { return nil }
        return try WebhookSetup(settings)
    }

    /// What would go out as it stands although it looks like a keyword, and where.
    static func unknownNames(_ settings: Settings) -> [SettingError] {
        guard !settings.text(.webhookURL).isEmpty else { return [] }
        var texts: [SettingKey] = [.webhookURL, .webhookHeaders]
        // In JSON no $name is filled in, and a $ may be meant.
        if ["form", "text"].contains(settings.text(.webhookBodyType)) { texts.append(.webhookBody) }
        return texts.flatMap { key in
            PayloadKeywords.unknownDollarNames(in: settings.text(key)).map {
                problem(
                    key,
                    "\($0.prefix(40)) is not a keyword and goes out as it is; write one of \(PayloadKeywords.dollarNames)"
                )
            }
        }
    }

    /// All that is wrong, one finding for each setting.
    static func problems(_ settings: Settings) -> [SettingError] {
        guard !settings.text(.webhookURL).isEmpty else { return [] }
        var found: [SettingError] = []
        for part in Part.allCases {
            do throws(SettingError) {
                try check(part, settings)
            } catch {
                if !found.contains(error) { found.append(error) }
            }
        }
        return found
    }

    private enum Part: CaseIterable {
        case url, answers, providers, headers, secretHeaders, body, secret, whole
    }

    private static func check(_ part: Part, _ settings: Settings) throws(SettingError) {
        switch part {
        case .url: try checkURL(settings)
        case .answers: _ = try answers(settings)
        case .providers: _ = try providers(settings)
        case .headers: _ = try headers(settings.text(.webhookHeaders).split(separator: "|"), .webhookHeaders)
        case .secretHeaders: _ = try headers(in: settings)
        case .body: _ = try request(settings, headers: [], body: try body(settings))
        case .secret: _ = try secret(settings)
        case .whole: _ = try WebhookSetup(settings)
        }
    }

    private init(_ settings: Settings) throws(SettingError) {
        try Self.checkURL(settings)
        let secretHeaders = try Self.headers(in: settings)
        let headers = try Self.headers(settings.text(.webhookHeaders).split(separator: "|"), .webhookHeaders)
        answers = try Self.answers(settings)
        providers = try Self.providers(settings)
        secret = try Self.secret(settings)
        allowsLocal = settings.flag(.webhookAllowLocal)
        isIdempotent = ["GET", "PUT", "DELETE"].contains(settings.text(.webhookMethod))
        secretFields = Set(secretHeaders.map { $0.name.lowercased() })
        request = try Self.request(settings, headers: headers + secretHeaders, body: try Self.body(settings))
    }

    private static func request(
        _ settings: Settings, headers: [WebhookSettings.Header], body: WebhookSettings.Body
    ) throws(SettingError) -> WebhookRequest {
        do throws(WebhookRequest.Problem) {
            return try WebhookRequest(
                settings: WebhookSettings(
                    method: settings.text(.webhookMethod), url: settings.text(.webhookURL), headers: headers,
                    body: body,
                    payload: PayloadSettings(settings)))
        } catch {
            throw problem(error, settings)
        }
    }

    private static func checkURL(_ settings: Settings) throws(SettingError) {
        let host = try request(settings, headers: [], body: .none).origin.host
        guard settings.flag(.webhookAllowLocal) || !PrivateAddress.isPrivate(host: host) else {
            throw problem(
                .webhookURL, "\(host) is not on the public Internet; set webhook_allow_local to 1 if it is yours")
        }
    }

    private static func answers(_ settings: Settings) throws(SettingError) -> WebhookAnswers {
        guard let answers = WebhookAnswers(setting: settings.text(.webhookAnswers)) else {
            throw problem(
                .webhookAnswers,
                "cannot be read; write STATUS=OUTCOME, such as 404=rejected 409=token-gone 5xx=unavailable")
        }
        return answers
    }

    private static func providers(_ settings: Settings) throws(SettingError) -> WebhookProviders {
        do throws(WebhookProviders.Mistake) {
            return try WebhookProviders(setting: settings.text(.webhookProviders))
        } catch {
            throw problem(
                .webhookProviders,
                "\"\(error.entry.prefix(40))\" is not a name of a push service; separate names with commas")
        }
    }

    /// The value of the signature's field; nil without a secret. `now` in seconds since 1970.
    func signature(of text: [UInt8], now: Int64) -> [UInt8]? {
        guard !secret.isEmpty else { return nil }
        let code = Crypto.hmacSHA256(key: secret, WebhookCredential.signingInput(text, now: now))
        // No code is worse than none: the server would take it for a forgery of its own.
        return code.isEmpty ? nil : WebhookCredential.headerValue(code, now: now)
    }

    // MARK: Files and texts

    private static func problem(_ key: SettingKey, _ message: String) -> SettingError {
        SettingError(setting: SettingsTable.description(of: key).name.description, message: message)
    }

    private static func read(_ key: SettingKey, _ settings: Settings, _ remedy: String) throws(SettingError) -> [UInt8]
    {
        do throws(SystemError) {
            return FileContent.withoutMark(try FileContent.read(settings.text(key)))
        } catch {
            throw problem(key, "cannot \(error); \(remedy)")
        }
    }

    private static func secret(_ settings: Settings) throws(SettingError) -> [UInt8] {
        let key = SettingKey.webhookSecretFile
        guard !settings.text(key).isEmpty else { return [] }
        let bytes = try read(key, settings, "give a file with the secret, readable for the PBX")
        let text = FileContent.firstLine(of: bytes)
        guard text.count >= WebhookCredential.shortestSecret else {
            throw problem(
                key,
                "holds fewer than \(WebhookCredential.shortestSecret) bytes in its first line; make one with: openssl rand -hex 32"
            )
        }
        return text
    }

    private static func headers(in settings: Settings) throws(SettingError) -> [WebhookSettings.Header] {
        let key = SettingKey.webhookHeaderFile
        guard !settings.text(key).isEmpty else { return [] }
        let bytes = try read(key, settings, "give a file with one header field a line, readable for the PBX")
        guard let text = String(validating: bytes, as: UTF8.self) else { throw problem(key, "is not UTF-8") }
        return try headers(text.split(whereSeparator: \.isNewline), key).map {
            .init(name: $0.name, value: $0.value, isLiteral: true)
        }
    }

    private static func headers(
        _ lines: [Substring], _ key: SettingKey
    ) throws(SettingError) -> [WebhookSettings.Header] {
        var headers: [WebhookSettings.Header] = []
        for (number, line) in lines.enumerated() where line.contains(where: { $0 != " " && $0 != "\t" }) {
            guard let colon = line.firstIndex(of: ":") else {
                // The line may be a secret.
                throw problem(key, "field \(number + 1) has no ':'; write Name: value")
            }
            headers.append(.init(name: trimmed(line[..<colon]), value: trimmed(line[line.index(after: colon)...])))
        }
        return headers
    }

    private static func trimmed(_ text: Substring) -> String {
        var rest = text.drop { $0 == " " || $0 == "\t" }
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return String(rest)
    }

    // MARK: The body

    private static func body(_ settings: Settings) throws(SettingError) -> WebhookSettings.Body {
        let type = settings.text(.webhookBodyType)
        if type == "none" || settings.text(.webhookMethod) == "GET" { return .none }
        var template = settings.text(.webhookBody)
        if !settings.text(.webhookBodyFile).isEmpty {
            guard template.isEmpty else {
                throw problem(.webhookBodyFile, "webhook_body is set too; keep one of them")
            }
            let bytes = try read(.webhookBodyFile, settings, "give a file with the template, readable for the PBX")
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw problem(.webhookBodyFile, "is not UTF-8")
            }
            template = text
        }
        switch type {
        case "form": return .form(template.isEmpty ? WebhookSettings.usualForm : trimmed(template[...]))
        case "text": return .text(template.isEmpty ? "<text>" : template)
        default: return .json(template.isEmpty ? WebhookSettings.usualJSON : template)
        }
    }

    private static func problem(_ problem: WebhookRequest.Problem, _ settings: Settings) -> SettingError {
        switch problem {
        case .badURL:
            self.problem(
                .webhookURL,
                "is not an https URL with a host that is written out; write https://host/path, keywords after the host")
        case .badMethod: self.problem(.webhookMethod, "is not a method of HTTP")
        case .badHeader(let name):
            self.problem(
                settings.text(.webhookHeaders).contains(name) ? .webhookHeaders : .webhookHeaderFile,
                "\"\(name.prefix(40))\" cannot be sent as a header field; leave it out")
        case .badBody(let error):
            self.problem(
                settings.text(.webhookBodyFile).isEmpty ? .webhookBody : .webhookBodyFile,
                "line \(error.line), column \(error.column): \(error.message)")
        }
    }
}
