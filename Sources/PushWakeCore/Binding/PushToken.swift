// SPDX-License-Identifier: MIT

/// An older form that Mizutech's servers read: `push-token-type`, `push-token-app`, `push-token-id`.
enum PushToken {
    /// Reads a Contact that has `push-token-type` or `push-token-id`.
    static func read(_ parameters: PushParameters, warnings: inout [Problem]) throws(Problem) -> PushRequest {
        if parameters.isNull(.tokenID) { return .unbind }
        let type = try parameters.required(.tokenType, for: "push-token-id")
        let token = try parameters.required(.tokenID, for: "push-token-type")
        guard let provider = provider(named: type) else {
            throw TokenRules.unknownProvider(type, "push-token-type", known: "android, ios or webpush")
        }

        var app = parameters[.tokenApp] ?? ""
        if provider == .webpush {
            app = ""
        } else {
            app = try parameters.required(.tokenApp, for: type)
            try TokenRules.check(app: app, from: "push-token-app")
        }
        let attributes = parameters.attributes(warnings: &warnings)
        return .bind([
            try TokenRules.checked(
                Binding(provider: provider, app: app, token: token, dialect: .pushToken, attributes: attributes),
                from: "push-token-id")
        ])
    }

    private static func provider(named type: String) -> Provider? {
        let bytes = type.utf8.span
        for name in ["android", "google", "firebase", "fcm", "a"] where bytes.equalsIgnoringCase(name) { return .fcm }
        for name in ["ios", "apple", "apns", "i"] where bytes.equalsIgnoringCase(name) { return .apns }
        for name in ["webpush", "w"] where bytes.equalsIgnoringCase(name) { return .webpush }
        return nil
    }
}

/// What tokens and app names may hold, so that each is safe where a request puts it: a path segment for
/// Apple and for the project of FCM, a header for the topic, a URL for Web Push, a JSON text for the others.
enum TokenRules {
    /// What a provider's tokens look like.
    enum Form {
        case apple
        case url
        case plain
    }

    /// What JavaScript, Objective-C, Swift, Python and Java make of a token that is not there.
    private static let placeholders: Set = [
        "null", "(null)", "<null>", "nil", "undefined", "none", "{}", "[]", "\"\"", "[object object]",
    ]
    private static let longestPlaceholder = 15

    /// The binding, whose token is one of its provider; `parameter` is where that came from.
    static func checked(_ binding: Binding, from parameter: String) throws(Problem) -> Binding {
        try check(token: binding.token, of: binding.provider, from: parameter)
        return binding
    }

    private static func check(token: String, of provider: Provider, from parameter: String) throws(Problem) {
        guard !token.isEmpty else {
            throw Problem(.badToken, parameter, "holds no token; send the one the push service gave")
        }
        guard token.utf8.count > longestPlaceholder || !placeholders.contains(token.lowercased()) else {
            throw Problem(
                .badToken, parameter,
                "holds \(token), which a program writes where it has no token yet; in the app, ask for the token first, and register when it has come"
            )
        }
        let longest = provider.row.longestToken
        guard token.utf8.count <= longest else { throw tooLong(parameter, longest) }
        switch provider.row.token {
        case .apple:
            guard ByteClass.appleToken.containsAll(of: token) else {
                throw Problem(
                    .badToken, parameter, "holds bytes that no Apple device token has; send the token as hex digits")
            }
        case .url:
            guard ByteClass.url.containsAll(of: token), HTTPOrigin.split(token) != nil else {
                throw Problem(
                    .badURL, parameter, "is not an https URL with a host; send the endpoint of the subscription")
            }
        case .plain:
            guard ByteClass.plainText.containsAll(of: token) else {
                throw Problem(
                    .badToken, parameter, "holds spaces, quotes or other bytes that no token has; send it as received")
            }
        }
    }

    /// Checks a bundle id, package, project or AppId.
    static func check(app: String, from parameter: String) throws(Problem) {
        guard app.utf8.count <= SIPLimits.longestApp else { throw tooLong(parameter, SIPLimits.longestApp) }
        guard !app.isEmpty, ByteClass.app.containsAll(of: app), app.utf8.first != ASCII.dot, app.utf8.last != ASCII.dot
        else {
            throw Problem(
                .badApp, parameter,
                "is not a bundle id, package or project: letters, digits, '.', '-', '_' and ':' only")
        }
    }

    /// Checks a value that is kept to be shown, compared or sent along: its length in bytes, and that it is one line.
    static func check(text: String, from parameter: String, atMost longest: Int) throws(Problem) {
        guard text.utf8.count <= longest else { throw tooLong(parameter, longest) }
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw problem(.control, parameter) }
    }

    /// The problem of a value that cannot be unescaped.
    static func problem(_ failure: PercentDecoding.Failure, _ parameter: String) -> Problem {
        switch failure {
        case .escape:
            Problem(.badEscape, parameter, "holds a '%' without two hex digits after it; write '%' itself as %25")
        case .control:
            Problem(.controlByte, parameter, "holds a NUL, line end or other control byte; leave it out")
        case .encoding:
            Problem(.badEncoding, parameter, "is not UTF-8; escape the UTF-8 bytes of the text")
        }
    }

    /// The problem of a value that is longer than `limit` bytes.
    static func tooLong(_ parameter: String, _ limit: Int) -> Problem {
        Problem(.tooLong, parameter, "is longer than \(limit) bytes; send a shorter one")
    }

    /// The problem of a provider that is none of ours; `name` comes from the phone.
    static func unknownProvider(_ name: String, _ parameter: String, known: String) -> Problem {
        let isShowable = name.utf8.count <= 32 && ByteClass.token.containsAll(of: name)
        let said = isShowable ? "'\(name)'" : "what it says"
        return Problem(.unknownProvider, parameter, "\(said) is not a known push service; use \(known)")
    }
}
