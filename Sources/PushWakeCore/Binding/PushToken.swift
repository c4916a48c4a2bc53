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
        try TokenRules.check(token: token, of: provider, from: "push-token-id")
        let wishes = parameters.wishes(warnings: &warnings)
        return .bind([Binding(provider: provider, app: app, token: token, dialect: .pushToken, wishes: wishes)])
    }

    private static func provider(named type: String) -> Provider? {
        let bytes = type.utf8.span
        for name in ["android", "google", "firebase", "fcm", "a"] where bytes.equalsIgnoringCase(name) { return .fcm }
        for name in ["ios", "apple", "apns", "i"] where bytes.equalsIgnoringCase(name) { return .apns }
        for name in ["webpush", "w"] where bytes.equalsIgnoringCase(name) { return .webpush }
        return nil
    }
}
