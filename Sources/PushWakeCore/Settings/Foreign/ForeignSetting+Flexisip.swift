// SPDX-License-Identifier: MIT

extension ForeignSetting {
    /// Flexisip 2.5 and 2.6: `module::PushNotification`, and what its other modules say of push.
    static let flexisip: [Self] = [
        .flexisip("filter", nil, "the script calls pushwake_lookup() for the requests that shall wake phones"),
        .flexisip("timeout", .silentAfter, "milliseconds, for phones that are awake; who sleeps is pushed at once"),
        .flexisip("message-time-to-live", .messageTimeToLive),
        .flexisip("time-to-live", .messageTimeToLive),
        .flexisip("max-queue-size", .queueSize, "for each provider and credential"),
        .flexisip("retransmission-count", .pushRepeats),
        .flexisip("retransmission-interval", .pushRepeat),
        .flexisip(
            "call-remote-push-interval", .pushRepeat,
            "repeats end with the call, and a notice takes the place of what is shown"),
        .flexisip("display-from-uri", .showCaller),
        .flexisip(
            "add-to-tag-filter", nil, "110 Push Sent always has a To tag (RFC 3261, 12.1), and makes no second dialog"),
        .flexisip("apple", .apnsKey, "true: set apns_key or apns_cert; false: leave both empty"),
        .flexisip("apple-certificate-dir", .apnsCert),
        .flexisip("apns-server", .apnsURL, "https://host"),
        .flexisip("apns-dev-server", .apnsSandboxURL, "https://host"),
        .flexisip("no-badge", .badge, "true: 0; false: 1"),
        .flexisip("firebase", .fcmKey, "true: set fcm_key; false: leave it empty"),
        .flexisip(
            "firebase-service-accounts", .fcmKey, "the project number goes into fcm_appN, its file into fcm_keyN"),
        .flexisip(
            "firebase-token-expiration-anticipation-time", nil,
            "an access token is renewed in time, whatever its life is"),
        .flexisip("firebase-default-refresh-interval", nil, "a token that could not be had is asked for with back-off"),
        .flexisip("external-push-flexiapi", .flexiAPIApps, "the apps that go this way, not all or none"),
        .flexisip("global::flexiapi/url", .flexiAPIURL),
        .flexisip("global::flexiapi/api-key", .flexiAPIKeyFile, "a file that holds it"),
        .flexisip("external-push-uri", .webhookURL),
        .flexisip("external-push-method", .webhookMethod),
        .flexisip("external-push-protocol", nil, "HTTP/2 or HTTP/1.1, as the server of webhook_url can"),
        .flexisip(
            "register-wakeup-interval", .refreshBefore, "not at intervals: each phone so long before its own end"),
        .flexisip("register-wakeup-threshold", .refreshBefore, "seconds before the end, not a share of the interval"),
        .flexisip(
            "enable-message-summaries-pn", .wakeRequests, "true: NOTIFY is among them; false: leave it out"),
        .flexisip("https-proxy-host", .httpProxy, "host:port"),
        .flexisip("https-proxy-port", .httpProxy, "host:port"),
        .flexisip("https-proxy-username", .httpProxyAuth, "a file with user:password"),
        .flexisip("https-proxy-password", .httpProxyAuth, "a file with user:password"),
        .flexisip("firebase-projects-api-keys", nil, legacyFCM),
        .flexisip("google", nil, legacyFCM),
        .flexisip("google-projects-api-keys", nil, legacyFCM),
        .flexisip("windowsphone", nil, windowsPhone),
        .flexisip("windowsphone-package-sid", nil, windowsPhone),
        .flexisip("windowsphone-application-secret", nil, windowsPhone),
        .flexisip("fork-late", nil, "a phone that registers while a call waits always joins it"),
        .flexisip("call-fork-timeout", .wakeTimeout),
        .flexisip("call-push-response-timeout", nil, "a push that is accepted and wakes nobody ends with wake_timeout"),
        .flexisip(
            "message-accept-timeout", .unansweredMessage,
            "a message is held for 20 s at most; accept answers 202 after that, and msilo keeps it"),
        .flexisip("message-delivery-timeout", nil, "PushWake keeps no messages; Kamailio's msilo does"),
        .flexisip("permit-self-generated-provisional-response", .wakeProvisional, "false: none"),
        .flexisip(
            "params-to-remove", nil,
            "the script does: route[PRIVATE] of docs/kamailio.md; Asterisk's module always"),
    ]
}
