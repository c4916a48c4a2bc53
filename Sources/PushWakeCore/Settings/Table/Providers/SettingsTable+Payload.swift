// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// What a push says.
    static let payload: [SettingDescription] = [
        .init(
            .payload, "payload", .payloads, "auto", example: "auto, fcm=mizutech",
            "Which built-in payload the pushes carry: plain, mizutech or flexisip. auto: the one that the phone's REGISTER asks for (docs/payloads.md). To use another one for a provider or one of its apps, append it: auto, fcm=mizutech, apns.com.example.phone=plain."
        ),
        .init(
            .flexisipCompat, "flexisip_compat", .flag, "0",
            "Send form-uri, the misspelt name that Flexisip documents, beside from-uri in its FCM payload."
        ),
        .init(
            .fcmNotification, "fcm_notification", .choice(["auto", "keep", "remove"]), "auto",
            "What to do with notification sections in FCM payloads. auto: keep them in messages, and remove them from calls, because Android would not start the app."
        ),
        .init(
            .soundCall, "sound_call", .text, "default", example: "ring.caf",
            "Sound of a call, where the phone named none with pn-call-snd."
        ),
        .init(
            .soundChat, "sound_chat", .text, "default", example: "message.caf",
            "Sound of a message, where the phone named none with pn-msg-snd."
        ),
        .init(
            .soundOther, "sound_other", .text, "default", example: "notice.caf",
            "Sound of every other push, where the phone named none with pn-msg-snd."
        ),
        .init(
            .badge, "badge", .flag, "1",
            "The number that payloads with a badge put on the app's icon. 0: none."
        ),
        .init(
            .showCaller, "show_caller", .flag, "1",
            "0: leave names and addresses of callers out of pushes, so that the provider does not learn them."
        ),
        .init(
            .templateDirectory, "template_dir", .path, "", example: "/etc/pushwake/templates",
            "Directory with payload templates of your own (PROVIDER.json, PROVIDER.APP.json). Empty: the built-in ones."
        ),
        .init(
            .messageTimeToLive, "message_ttl", .integer(0...2_419_200), "604800", unit: "s", example: "86400",
            "How long a provider keeps a push for a message, a mailbox notice, a missed call, a custom text or a refresh by hand. 0: it delivers the push at once or drops it."
        ),
    ]
}
