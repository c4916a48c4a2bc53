// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// An HTTP server of your own, for every other push service.
    static let webhook: [SettingDescription] = [
        .init(
            .webhookURL, "webhook_url", .text, "", example: "https://push.example.com/wake?to=$token",
            "https URL for pushes that no other provider sends; keywords in path and query, such as $token or TOKEN, are filled in. Its host may be a local one. Empty: no webhook."
        ),
        .init(
            .webhookMethod, "webhook_method", .choice(["POST", "GET", "PUT", "PATCH", "DELETE"]), "POST",
            "HTTP method of the webhook."
        ),
        .init(
            .webhookHeaders, "webhook_headers", .textOrFile, "",
            example: "X-Event: <event> | @/etc/pushwake/webhook.headers",
            "Header fields with keywords, separated by |, such as X-Caller: FROM | X-Event: <event>. @/path is a file with a field a line, which is sent as it is and never shown, such as Authorization: Bearer KEY."
        ),
        .init(
            .webhookBodyType, "webhook_body_type", .choice(["json", "form", "text", "none"]), "json",
            "Type of the body; values are escaped accordingly. With GET there is no body."
        ),
        .init(
            .webhookBody, "webhook_body", .textOrFile, "", example: "@/etc/pushwake/webhook.json",
            "Template of the body, with the keywords of payload templates, or @/path of a file with one. Empty: all values, as JSON or as a form; for text, the text of the message."
        ),
        .init(
            .webhookSecretFile, "webhook_secret_file", .path, "", example: "/etc/pushwake/webhook.secret",
            "File with the secret, at least 16 bytes, that signs x-pushwake-signature (HMAC-SHA-256). Empty: not signed."
        ),
        .init(
            .webhookAnswers, "webhook_answers", .text, "", example: "404=token-gone 5xx=rejected",
            "What HTTP statuses mean if they differ from the usual, such as 404=token-gone 409=token-gone 5xx=rejected."
        ),
        .init(
            .webhookProviders, "webhook_providers", .text, "*", example: "huawei, pigeon",
            "Values of pn-provider that the webhook serves, comma separated: names of your own, * for any that PushWake does not know, the name of a push service such as fcm to take it away from its own service."
        ),
    ]
}
