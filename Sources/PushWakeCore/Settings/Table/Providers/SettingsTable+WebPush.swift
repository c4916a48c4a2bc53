// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// Browsers and UnifiedPush.
    static let webPush: [SettingDescription] = [
        .init(
            .vapidKey, "vapid_key", .path, "", example: "/etc/pushwake/vapid.pem",
            "P-256 private key, PEM, that signs for Web Push (VAPID). Phones get its public half in sip.vapid. Empty: no Web Push."
        ),
        .init(
            .vapidSubject, "vapid_subject", .text, "", example: "mailto:ops@example.com",
            "mailto: or https: URI under which a push service can reach you, with your own domain; Web Push needs it."
        ),
        .init(
            .webPushHosts, "webpush_hosts", .text,
            "fcm.googleapis.com,*.push.services.mozilla.com,*.push.apple.com,*.notify.windows.com",
            example: "fcm.googleapis.com, *.push.apple.com, push.example.com",
            "Hosts that Web Push and UnifiedPush subscriptions may lead to, comma separated; *.example.com for all below it, * for any. A host that is written out may have a loopback or private address, for a push service of your own; others may not."
        ),
        .init(
            .webPushNavigate, "webpush_navigate", .text, "", example: "https://phone.example.com/",
            "https URL that a browser opens for a message or a missed call. If it is set, these are sent as declarative push messages, which Safari shows without a service worker. Empty: all pushes go to the app's service worker."
        ),
    ]
}
