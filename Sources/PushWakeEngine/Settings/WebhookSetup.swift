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
    /// The method says that a second copy changes nothing (RFC 9110, 9.2.2).
    let isIdempotent: Bool
    /// Fields whose values only the server may see, lower case.
    let secretFields: Set<String>

    /// What is wrong with a setting, or with a file that it names, and the remedy.
    struct Problem: Error, Equatable {
        let setting: String
        let message: String
        /// The file may be another one tomorrow; a text that makes no sense stays so.
        let isOfFile: Bool
    }

    /// Nil when no webhook is set.
    static func load(_ settings: Settings) throws(Problem) -> WebhookSetup? {
        guard !settings.text(.webhookURL).isEmpty else { return nil }
        return try WebhookSetup(settings)
    }

    /// What would go out as it stands although it looks like a keyword, and where.
    static func unknownNames(_ settings: Settings) -> [Problem] {
        guard !settings.text(.webhookURL).isEmpty else { return [] }
        var texts = [(SettingKey.webhookURL, settings.text(.webhookURL)[...])]
        for case .text(let field) in settings.webhookHeaders { texts.append((.webhookHeaders, field)) }
        // In JSON no $name is filled in, and a $ may be meant.
        if ["form", "text"].contains(settings.text(.webhookBodyType)), case .text(let body) = settings.webhookBody {
            texts.append((.webhookBody, body))
        }
        return texts.flatMap { key, text in
            PayloadKeywords.unknownDollarNames(in: String(text)).map {
                problem(
                    key,
                    "\($0.prefix(40)) is not a keyword and goes out as it is; write one of \(PayloadKeywords.dollarNames)"
                )
            }
        }
    }

    /// All that is wrong, one finding for each setting.
    static func problems(_ settings: Settings) -> [Problem] {
        guard !settings.text(.webhookURL).isEmpty else { return [] }
        var found: [Problem] = []
        for part in Part.allCases {
            do throws(Problem) {
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

    private static func check(_ part: Part, _ settings: Settings) throws(Problem) {
        switch part {
        case .url: try checkURL(settings)
        case .answers: _ = try answers(settings)
        case .providers: _ = try providers(settings)
        case .headers: _ = try headers(settings)
        case .secretHeaders: _ = try secretHeaders(settings)
        case .body:
            // What is wrong with the URL is said of the URL.
            var fine = settings
            try? fine.set(.webhookURL, to: "https://localhost/")
            _ = try request(fine, headers: [], body: try body(settings))
        case .secret: _ = try secret(settings)
        case .whole: _ = try WebhookSetup(settings)
        }
    }

    private init(_ settings: Settings) throws(Problem) {
        try Self.checkURL(settings)
        let secretHeaders = try Self.secretHeaders(settings)
        let headers = try Self.headers(settings)
        answers = try Self.answers(settings)
        providers = try Self.providers(settings)
        secret = try Self.secret(settings)
        isIdempotent = ["GET", "PUT", "DELETE"].contains(settings.text(.webhookMethod))
        secretFields = Set(secretHeaders.map { $0.name.lowercased() })
        request = try Self.request(settings, headers: headers + secretHeaders, body: try Self.body(settings))
    }

    private static func request(
        _ settings: Settings, headers: [WebhookSettings.Header], body: WebhookSettings.Body
    ) throws(Problem) -> WebhookRequest {
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

    private static func checkURL(_ settings: Settings) throws(Problem) {
        _ = try request(settings, headers: [], body: .none)
    }

    private static func answers(_ settings: Settings) throws(Problem) -> WebhookAnswers {
        guard let answers = WebhookAnswers(setting: settings.text(.webhookAnswers)) else {
            throw problem(
                .webhookAnswers,
                "cannot be read; write STATUS=OUTCOME, such as 404=rejected 409=token-gone 5xx=unavailable")
        }
        return answers
    }

    private static func providers(_ settings: Settings) throws(Problem) -> WebhookProviders {
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

    private static func problem(_ key: SettingKey, _ message: String, isOfFile: Bool = false) -> Problem {
        Problem(
            setting: SettingsTable.description(of: key).name.description, message: message, isOfFile: isOfFile)
    }

    private static func read(_ path: String, _ key: SettingKey, _ remedy: String) throws(Problem) -> [UInt8] {
        do throws(SystemError) {
            return FileContent.withoutMark(try FileContent.read(path))
        } catch {
            throw problem(key, "cannot \(error); \(remedy)", isOfFile: true)
        }
    }

    private static func readText(_ path: String, _ key: SettingKey, _ remedy: String) throws(Problem) -> String {
        guard let text = String(validating: try read(path, key, remedy), as: UTF8.self) else {
            throw problem(key, "\(path) is not UTF-8", isOfFile: true)
        }
        return text
    }

    private static func secret(_ settings: Settings) throws(Problem) -> [UInt8] {
        let key = SettingKey.webhookSecretFile
        let path = settings.text(key)
        guard !path.isEmpty else { return [] }
        let text = FileContent.firstLine(of: try read(path, key, "give a file with the secret, readable for the PBX"))
        guard text.count >= WebhookCredential.shortestSecret else {
            throw problem(
                key,
                "holds fewer than \(WebhookCredential.shortestSecret) bytes in its first line; make one with: openssl rand -hex 32",
                isOfFile: true)
        }
        return text
    }

    /// Those that the setting holds itself.
    private static func headers(_ settings: Settings) throws(Problem) -> [WebhookSettings.Header] {
        var fields: [Substring] = []
        for case .text(let field) in settings.webhookHeaders { fields.append(field) }
        return try headers(fields, of: nil)
    }

    /// Those of the files that it names.
    private static func secretHeaders(_ settings: Settings) throws(Problem) -> [WebhookSettings.Header] {
        var all: [WebhookSettings.Header] = []
        for case .file(let path) in settings.webhookHeaders {
            let text = try readText(
                path, .webhookHeaders, "give a file with one header field a line, readable for the PBX")
            all += try headers(text.split(whereSeparator: \.isNewline), of: path)
        }
        return all
    }

    /// `path` is where they stand, nil in the setting.
    private static func headers(
        _ lines: [Substring], of path: String?
    ) throws(Problem) -> [WebhookSettings.Header] {
        var headers: [WebhookSettings.Header] = []
        for (number, line) in lines.enumerated() where line.contains(where: { $0 != " " && $0 != "\t" }) {
            guard let colon = line.firstIndex(of: ":") else {
                // The line may be a secret.
                let place = path.map { "\($0): line \(number + 1)" } ?? "field \(number + 1)"
                let remedy = path == nil ? "write Name: value, or @/path for a file of fields" : "write Name: value"
                throw problem(.webhookHeaders, "\(place) has no ':'; \(remedy)", isOfFile: path != nil)
            }
            headers.append(
                .init(
                    name: trimmed(line[..<colon]), value: trimmed(line[line.index(after: colon)...]),
                    isLiteral: path != nil))
        }
        return headers
    }

    private static func trimmed(_ text: Substring) -> String {
        var rest = text.drop { $0 == " " || $0 == "\t" }
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return String(rest)
    }

    // MARK: The body

    private static func body(_ settings: Settings) throws(Problem) -> WebhookSettings.Body {
        let type = settings.text(.webhookBodyType)
        if type == "none" || settings.text(.webhookMethod) == "GET" { return .none }
        var template = settings.text(.webhookBody)
        if let path = settings.webhookBody.path {
            template = try readText(path, .webhookBody, "give a file with the template, readable for the PBX")
        }
        switch type {
        case "form": return .form(template.isEmpty ? WebhookSettings.usualForm : trimmed(template[...]))
        case "text": return .text(template.isEmpty ? "<text>" : template)
        default: return .json(template.isEmpty ? WebhookSettings.usualJSON : template)
        }
    }

    private static func problem(_ problem: WebhookRequest.Problem, _ settings: Settings) -> Problem {
        switch problem {
        case .badURL:
            self.problem(
                .webhookURL,
                "is not an https URL with a host that is written out; write https://host/path, keywords after the host")
        case .badMethod: self.problem(.webhookMethod, "is not a method of HTTP")
        case .badHeader(let name):
            self.problem(
                .webhookHeaders, "\"\(name.prefix(40))\" cannot be sent as a header field; leave it out",
                isOfFile: !settings.text(.webhookHeaders).contains(name))
        case .badBody(let error):
            self.problem(
                .webhookBody, "line \(error.line), column \(error.column): \(error.message)",
                isOfFile: settings.webhookBody.path != nil)
        }
    }
}
