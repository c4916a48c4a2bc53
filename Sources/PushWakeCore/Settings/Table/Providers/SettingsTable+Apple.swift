// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// APNs, for iPhones.
    static let apple: [SettingDescription] = [
        .init(
            .apnsKey, "apns_key", .path, "", example: "/etc/pushwake/AuthKey_ABC123DEFG.p8",
            "Apple's .p8 key file (AuthKey_XXXXXXXXXX.p8). Empty: only apns_cert, if that is set."
        ),
        .init(
            .apnsKeyID, "apns_key_id", .text, "", example: "ABC123DEFG",
            "The ten characters of that key's id. Empty: those in the file's name."
        ),
        .init(
            .apnsTeamID, "apns_team_id", .text, "", example: "DEF123GHIJ",
            "The ten characters of your Apple team id."
        ),
        .init(
            .apnsCert, "apns_cert", .path, "", example: "/etc/pushwake/pushkit.p12",
            "Apple's push certificate with its key (.p12, .pfx, .pem, or .cer with .key beside it), or a directory with one for each app. If none covers an app, apns_key is used."
        ),
        .init(
            .apnsCertPasswordFile, "apns_cert_password_file", .path, "", example: "/etc/pushwake/pushkit.pwd",
            "File with the password of apns_cert, if there is no file of the same name that ends in .pwd."
        ),
        .init(
            .apnsEnvironment, "apns_environment", .choice(["production", "sandbox"]), "production",
            "Which of Apple's two environments a token belongs to, if the phone does not say."
        ),
        .init(
            .apnsURL, "apns_url", .origin, "https://api.push.apple.com", example: "https://api.push.apple.com:2197",
            "Apple's production service."
        ),
        .init(
            .apnsSandboxURL, "apns_sandbox_url", .origin, "https://api.sandbox.push.apple.com",
            example: "https://api.sandbox.push.apple.com:2197",
            "Apple's sandbox service."
        ),
        .init(
            .apnsTopic, "apns_topic", .text, "", example: "com.example.phone",
            "Topic of every push. Empty or set: the bundle id that the phone sent, with .voip for calls to a PushKit token; packagename: never with .voip; null: none, for a certificate with one topic; Apple refuses it with a .p8 key."
        ),
        .init(
            .apnsPushType, "apns_push_type", .choice(["auto", "no", "voip", "alert", "background"]), "auto",
            "apns-push-type of pushes to tokens that are not PushKit's. auto, voip: by event and token. alert, background: this one, but a refresh stays silent. no: the header is left out."
        ),
        .init(
            .apnsTokenKind, "apns_token_kind", .choice(["auto", "voip", "alert"]), "auto",
            "How to use an Apple token when the phone does not say what it is for (X-MPUSH i, push-token-type). voip: for calls through PushKit only. alert: for everything; a call is an alert too. auto: alert if apns_push_type is alert or background, else voip."
        ),
    ]
}
