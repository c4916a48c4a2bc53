// SPDX-License-Identifier: MIT

extension ForeignSetting {
    /// Mizutech's server and gateway ("Push notifications", Advanced configuration options).
    static let mizutech: [Self] = [
        .mizutech("pushnotification", .loadCall, "0: never; 1: unless_overloaded; 2, 3: always"),
        .mizutech(
            "pushnotification_chat", .loadChat,
            "0: never; 1: low_load; 2: unless_overloaded; 3: always. The default there is 1: here it is 2, since nobody else tells the phone of its message"
        ),
        .mizutech(
            "pushnotification_chat_when", nil,
            "a message wakes a phone that sleeps at once, and one that is silent after silent_after"),
        .mizutech("pushnotification_cancel", .loadCancel, "0: never; 1: low_load; 2: unless_overloaded; 3: always"),
        .mizutech(
            "pushnotification_cancel_when", .cancelWhen,
            "0, 1: unanswered, since both leave out a phone that has answered with 100; 2: always. pushed has no number there"
        ),
        .mizutech(
            "pushnotification_fcm", .fcmKey,
            "1: set fcm_key; 0: leave it empty. Whether an iPhone is woken through FCM the phone decides (X-MPUSH j)"),
        .mizutech(
            "pushnotification_pushkit", .apnsKey,
            "1: set apns_key or apns_cert; 0: leave both empty. Apple has no push for Android"),
        .mizutech(
            "pushnotification_web", .vapidKey,
            "1: set vapid_key; 0: leave it empty. It never takes the place of fcm or apns"),
        .mizutech(
            "pushnotification_websocket", nil,
            "phones over WebSocket bind like all others, where Kamailio has its module websocket (docs/gateway.md)"),
        .mizutech(
            "pushnotification_inviteretry", .wakeTimeout,
            "seconds that a call waits; its INVITE goes to a phone each time that it registers anew"),
        .mizutech("pushnotification_clientmaxoffline", .clientMaxOffline),
        .mizutech("pushnotification_disableunreg", .unregisterPolicy, "0: remove; 1, 2: keep"),
        .mizutech("pushnotification_regrefresh", .regRefresh),
        .mizutech(
            "pushnotification_persists", .persist,
            "the default there is -1, 5 to 60 days by load: here it is 30, so that nobody's phone is forgotten because of others"
        ),
        .mizutech("pushnotification_keepupperreg", .keepUpperReg),
        .mizutech("pushnotification_keeppupperreg", .keepUpperReg, "a misspelling in the same document"),
        .mizutech("pushnotification_ignoresubssame", .ignoreSame, "-1: 5000"),
        .mizutech("pushnotification_removeon_regfail", .removeOnRegfail),
        .mizutech("pushnotification_removeon_subscallfail", .removeOnCallfail),
        .mizutech(
            "pushnotification_removeon_pushfail", nil,
            "a token that its service calls dead is always removed; no other failure removes one"),
        .mizutech("pushnotification_removeon_noanswer", .removeOnNoanswer),
        .mizutech("pushnotification_removeon_reject", .removeOnReject, "only a gateway hears whom its server rejects"),
        .mizutech("pushnotification_removeat_nopn", .removeAtNopn),
        .mizutech("pushnotification_removeat_noprid", .removeAtNoprid),
        .mizutech("pushnotification_upperexpire", .upperExpire),
        .mizutech("rebuildregclients", .rebuild),
        .mizutech(
            "pushnotification_ttl", .messageTimeToLive,
            "for messages; that of a call is wake_timeout. The default there is 0, at once or never: here a phone without network gets its messages later, and a call that still waits"
        ),
        .mizutech(
            "pushnotification_teamid", nil,
            "the team id of pn-param is known by its capitals and digits, and never a part of the topic"),
        .mizutech(
            "pushnotification_teamidstr", nil,
            "Apple's ending for calls is always .voip; apns_topic says whether it is put behind the bundle id"),
        .mizutech("pushnotification_send555", .send555),
        .mizutech(
            "pushnotification_apnspushtype", .apnsPushType,
            "one token never takes both calls and alerts; apns_token_kind says which"),
        .mizutech(
            "pushnotification_topic", .apnsTopic,
            "any other text than null, set and packagename is the topic itself. The default there is null: here it is set, since Apple takes a push without a topic with a certificate of one app alone"
        ),
        .mizutech("pushnotification_sound_call", .soundCall),
        .mizutech("pushnotification_sound_chat", .soundChat),
        .mizutech("pushnotification_sound_other", .soundOther),
        .mizutech("fcm_protocol", nil, legacyFCM),
        .mizutech("fcm_serverurl", .fcmURL, "https://host alone"),
        .mizutech("fcm_serverurl_v1", .fcmURL, "https://host alone"),
        .mizutech("fcm_serverurl_legacy", nil, legacyFCM),
        .mizutech("fcm_removenotification", .fcmNotification, "0: keep; 1, -1: auto; 2: remove"),
        .mizutech("fcm_remove_notification", .fcmNotification, "a misspelling in the same document"),
        .mizutech("fcm_maxfail", .maxFail, "for every service, each credential by itself"),
        .mizutech("fcm_app", .fcmApp),
        .mizutech("fcm_key", .fcmKey, "a service-account file; the server key of the legacy API is refused"),
        .mizutech("fcm_appX", nil, "there is the same: fcm_app1 to fcm_app1000"),
        .mizutech("fcm_keyX", nil, "there is the same: fcm_key1 to fcm_key1000"),
        .mizutech("fcmm_app", .fcmApp, "so written by the wizard"),
        .mizutech("fcmm_key", .fcmKey, "so written by the wizard"),
        .mizutech("fcmkey.json", .fcmKeyDirectory, "found in this directory; fcmkey.PACKAGE.json too"),
        .mizutech("fcmmessage.txt", .templateDirectory, "found in this directory"),
        .mizutech("pushkitmessage.txt", .templateDirectory, "found in this directory"),
        .mizutech("pushkit_protocol", nil, binaryAPNs),
        .mizutech("pushkit_serverurl_legacy", nil, binaryAPNs),
        .mizutech("pushkit_serverurl", .apnsURL, "https://host; what a chapter calls pushkit_serverurl_http2"),
        .mizutech("pushkit_serverurl_http2", .apnsURL, "https://host"),
        .mizutech("pushkit_serverurl_http2_prod", .apnsURL, "https://host"),
        .mizutech("pushkit_serverurl_http2_dev", .apnsSandboxURL, "https://host"),
        .mizutech("pushkit_port", nil, binaryAPNs),
        .mizutech("pushkit_localport", nil, binaryAPNs),
        .mizutech("pushkit_sslcertpassword", .apnsCertPasswordFile, "a file that holds it"),
        .mizutech("pushkit_loglevel", .logLevel, "for all that the engine says"),
        .mizutech("pushkit.p12", .apnsCert, "a file, or a directory with one for each app"),
        .mizutech("pushkit.pem", .apnsCert, "a file, or a directory with one for each app"),
        .mizutech("pushkit.pwd", .apnsCertPasswordFile, "found beside the certificate; NAME.pwd too"),
        .mizutech("prefermd5auth", .preferMD5Auth),
    ]
}
