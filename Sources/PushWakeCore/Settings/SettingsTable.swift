// SPDX-License-Identifier: MIT

/// The one place where settings are written down.
public enum SettingsTable {
    /// The row of a key.
    public static func description(of key: SettingKey) -> SettingDescription { rows[key.rawValue] }

    /// Written once: a file of many lines asks for them again and again.
    private static let rows = SettingKey.allCases.map { row(of: $0) }
    private static let names = rows.map { Array($0.name.description.utf8) }
    private static let keys = Dictionary(uniqueKeysWithValues: SettingKey.allCases.map { (name(of: $0), $0) })

    private static func name(of key: SettingKey) -> String { rows[key.rawValue].name.description }

    private static func row(of key: SettingKey) -> SettingDescription {
        engineRow(key) ?? httpRow(key) ?? callRow(key) ?? heldRow(key) ?? loadRow(key) ?? deliveryRow(key)
            ?? vendorRow(key) ?? openRow(key) ?? furtherRow(key) ?? nodeRow(key) ?? gatewayRow(key) ?? removalRow(key)
            ?? webhookRow(key)
    }

    /// The key with this name.
    public static func key(named name: String) -> SettingKey? { keys[name] }

    /// The name that is at most three typing errors away from this one, the nearest; nil when there is none.
    static func name(near wrong: String) -> String? {
        let most = 3
        let wrong = Array(wrong.lowercased().utf8)
        var nearest: (name: [UInt8], distance: Int)?
        for name in names where abs(name.count - wrong.count) <= most {
            let distance = EditDistance.between(name, wrong, limit: most)
            if distance <= most, distance < nearest?.distance ?? .max { nearest = (name, distance) }
        }
        return nearest.map { String(decoding: $0.name, as: UTF8.self) }
    }

    private static func engineRow(_ key: SettingKey) -> SettingDescription? {
        switch key {
        case .engineMode:
            .init(
                "engine_mode", .choice(["supervised", "external"]), "supervised",
                "supervised: this module starts the engine and restarts it when it dies. external: systemd or another PBX on this host runs it."
            )
        case .enginePath:
            .init(
                "engine_path", .path, "pushwake",
                "The pushwake executable; a name without a slash is looked for next to libpushwake, then in PATH.")
        case .engineSocket:
            .init(
                "engine_socket", .path, "/run/pushwake/engine.sock",
                "Unix socket between engine and PBX. One engine per socket.")
        case .engineSocketGroup:
            .init(
                "engine_socket_group", .text, "",
                "Group, by name or number, whose members may connect to engine_socket, such as asterisk for AGI. The user of the engine must be in it. Empty: the engine's own group."
            )
        case .engineTimeout:
            .init(
                "engine_timeout", .integer(1...10_000), "100", unit: "ms",
                "How long a SIP worker waits for the engine at most. Then the request goes on without push.")
        case .coreDumps:
            .init(
                "core_dumps", .flag, "1",
                "0: a crash of the engine leaves no core file, which would hold push tokens, and nobody but root may look into its memory. The private keys that sign pushes are kept out of core files. With secret_key_file no core file is written at all."
            )
        case .logLevel:
            .init(
                "log_level", .choice(["error", "warning", "notice", "info", "debug"]), "info",
                "What the engine writes to the log of the PBX.")
        case .store:
            .init(
                "store", .store, "sqlite",
                "Where bindings are stored. sqlite: in store_path. memory: only in memory; they are lost when the engine stops. redis://host[:port][/database], rediss://host (TLS), unix:///path, redis+sentinel://host,host/name or redis+cluster://host,host: in a Valkey or Redis server, or cluster, that several nodes share (docs/nodes.md)."
            )
        case .storePath:
            .init("store_path", .path, "/var/lib/pushwake/bindings.db", "File of the SQLite store.")
        case .storeSync:
            .init(
                "store_sync", .choice(["normal", "full"]), "normal",
                "normal: bindings survive a crash of any process. full: they also survive a power cut, at the cost of one fsync for each REGISTER."
            )
        case .persist:
            .init(
                "persist", .integer(-1...3650), "30", unit: "days",
                "How many days after the last REGISTER a binding is kept when the SIP registration has ended. 0: it ends with the registration. -1: 30 days, 10 under load and 5 when overloaded."
            )
        case .bindingsPerUser:
            .init(
                "bindings_per_user", .integer(1...256), "10",
                "How many push bindings an AoR may have, and how many pushes one request to it may cause. A further binding replaces the oldest. An iPhone has two."
            )
        default: nil
        }
    }

    private static func callRow(_ key: SettingKey) -> SettingDescription? {
        switch key {
        case .wakeTimeout:
            .init(
                "wake_timeout", .integer(1...600), "40", unit: "s",
                "How long a call waits for a sleeping phone. It is also the time to live of the push.")
        case .wakeRequests:
            .init(
                "wake_requests", .methods, "INVITE, MESSAGE, REFER, NOTIFY",
                "Requests outside of a dialog that wake phones. NOTIFY: only for message-summary, the notice of a mailbox. You may add OPTIONS, SUBSCRIBE, PUBLISH and INFO: they make a phone register and show nothing. Requests other than INVITE are held for 20 s at most."
            )
        case .voicemailUrgent:
            .init(
                "voicemail_urgent", .flag, "0",
                "1: the notice of a mailbox wakes a phone at once, as a message does. 0: the provider may deliver it when the phone is awake for another reason."
            )
        case .purr:
            .init(
                "purr", .flag, "0",
                "1: RFC 8599 phones get a sip.pnspurr, and a request within a dialog that names it in pn-purr wakes the phone. The SIP server must stay in the path of such dialogs (Record-Route) and pass their requests to PushWake. 0: requests within a dialog wake nobody."
            )
        case .purrRotate:
            .init(
                "purr_rotate", .integer(60...31_536_000), "86400", unit: "s",
                "After this time a phone that registers gets a new sip.pnspurr, but at most 31 within purr_keep."
            )
        case .purrKeep:
            .init(
                "purr_keep", .integer(1...365), "7", unit: "days",
                "How long a pn-purr stays valid after it was last sent to the phone or used by a dialog.")
        case .awakeFor:
            .init(
                "awake_for", .integer(0...3600), "0", unit: "s",
                "A phone that registered within so many seconds counts as awake and is not pushed. 0: only an open connection counts."
            )
        case .unregisterPolicy:
            .init(
                "unregister_policy", .choice(["keep", "remove"]), "keep",
                "keep: a phone that unregisters can still be woken; only a null token removes its binding. remove: unregistering removes the binding, as RFC 8599 says."
            )
        case .send555:
            .init(
                "send_555", .flag, "0",
                "Answer 555 to a REGISTER that names a push service that is not supported (RFC 8599, 5.6.1). 0: accept it without sip.pns."
            )
        case .minExpires:
            .init(
                "min_expires", .integer(0...86_400), "0", unit: "s",
                "Answer 423 to a REGISTER with push parameters that asks for a shorter time (RFC 8599, 5.6.1.1). 0: accept any time."
            )
        case .messageTimeToLive:
            .init(
                "message_ttl", .integer(0...2_419_200), "604800", unit: "s",
                "How long a provider keeps a push for a message, a mailbox notice, a missed call, a custom text or a refresh by hand. 0: it delivers the push at once or drops it."
            )
        case .ignoreSame:
            .init(
                "ignore_same", .integer(0...600_000), "0", unit: "ms",
                "Do not push to the same device twice for the same event within this time, unless it registers meanwhile; for messages, within twice the time. The push of a second call waits until the time is over, and is dropped if the phone registers first. 0: off."
            )
        case .devicePushes:
            .init(
                "device_pushes", .integer(0...1_000_000), "5",
                "How many pushes requests may cause to one device at once, repeats included; after that, one every 5 s. Further pushes wait with their request, and are dropped if the phone registers first. 0: no limit."
            )
        case .callerPushes:
            .init(
                "caller_pushes", .integer(0...1_000_000), "10",
                "The same for one caller and one AoR: after so many, one every 5 s. 0: no limit.")
        case .aorPushes:
            .init(
                "aor_pushes", .integer(0...1_000_000), "30",
                "The same for all devices of one AoR: after so many, one a second. 0: no limit.")
        case .wakesKept:
            .init(
                "wakes_kept", .integer(1000...10_000_000), "100000",
                "How many requests the engine keeps, about 1.2 kB each and the text of a message (5 kB at most): those that are held, and for a minute those that have ended. If there are more, the oldest ended ones are dropped first; if all are held, new requests go on without push."
            )
        case .cancelPush:
            .init(
                "cancel_push", .flag, "1",
                "Push to a phone that was pushed and did not register in time when the caller has hung up or another phone has answered. Never to a PushKit token."
            )
        case .refreshBefore:
            .init(
                "refresh_before", .integer(0...86_400), "0", unit: "s",
                "Ask each phone by push to register again this long before its registration ends; RFC 8599 recommends 120 or more. A phone that refreshes by itself is asked 120 s before the end if it has not done so. 0: never."
            )
        case .refreshAll:
            .init(
                "refresh_all", .flag, "0",
                "1: with refresh_before, ask every phone to register again, also one that says that it refreshes by itself; it gets no sip.pnsreg (RFC 8599, 5.6.1.1). 0: do not ask such a phone."
            )
        case .fastAGIListen:
            .init(
                "fastagi_listen", .text, "",
                "Address and port for FastAGI, such as 127.0.0.1:4573. Empty: off.")
        case .fastAGIAllow:
            .init(
                "fastagi_allow", .text, "127.0.0.0/8,::1/128",
                "Networks that may connect to FastAGI, comma separated.")
        case .fastAGITokenFile:
            .init(
                "fastagi_token_file", .path, "",
                "File whose first line every FastAGI request must carry as token=…, 8 bytes at least. Empty: fastagi_allow alone decides."
            )
        default: nil
        }
    }

    private static func loadRow(_ key: SettingKey) -> SettingDescription? {
        let policies = SettingDescription.Kind.choice(LoadPolicy.allCases.map(\.name))
        return switch key {
        case .loadCall:
            .init(
                "load_call", policies, "always",
                "At which load calls are pushed. low_load: at levels 0 and 1; unless_overloaded: up to level 3; `pushwake stats` shows the level."
            )
        case .loadCancel:
            .init(
                "load_cancel", policies, "always",
                "The same for the notice that a call has ended.")
        case .loadChat:
            .init(
                "load_chat", policies, "unless_overloaded",
                "The same for messages, group messages, notices of a mailbox, REFER and texts by hand.")
        case .loadMissed:
            .init("load_missed", policies, "unless_overloaded", "The same for missed calls.")
        case .loadRefresh:
            .init("load_refresh", policies, "unless_overloaded", "The same for pushes that ask a phone to register.")
        default: nil
        }
    }

    private static func deliveryRow(_ key: SettingKey) -> SettingDescription? {
        switch key {
        case .payload:
            .init(
                "payload", .payloads, "auto",
                "Which built-in payload the pushes carry: plain, mizutech or flexisip. auto: the one that the phone's REGISTER asks for (docs/payloads.md). To use another one for a provider or one of its apps, append it: auto, fcm=mizutech, apns.com.example.phone=plain."
            )
        case .flexisipCompat:
            .init(
                "flexisip_compat", .flag, "0",
                "Send form-uri, the misspelt name that Flexisip documents, beside from-uri in its FCM payload.")
        case .fcmNotification:
            .init(
                "fcm_notification", .choice(["auto", "keep", "remove"]), "auto",
                "What to do with notification sections in FCM payloads. auto: keep them in messages, and remove them from calls, because Android would not start the app."
            )
        case .soundCall:
            .init(
                "sound_call", .text, "default",
                "Sound of a call, where the phone named none with pn-call-snd.")
        case .soundChat:
            .init(
                "sound_chat", .text, "default",
                "Sound of a message, where the phone named none with pn-msg-snd.")
        case .soundOther:
            .init(
                "sound_other", .text, "default",
                "Sound of every other push, where the phone named none with pn-msg-snd.")
        case .badge:
            .init(
                "badge", .flag, "1",
                "The number that payloads with a badge put on the app's icon. 0: none.")
        case .showCaller:
            .init(
                "show_caller", .flag, "1",
                "0: leave names and addresses of callers out of pushes, so that the provider does not learn them.")
        case .templateDirectory:
            .init(
                "template_dir", .path, "",
                "Directory with payload templates of your own (PROVIDER.json, PROVIDER.APP.json). Empty: the built-in ones."
            )
        case .caFile:
            .init(
                "ca_file", .path, "",
                "PEM file with the certificates that providers are verified with: of roots, of intermediates, or of a server itself. Empty: the authorities of the system."
            )
        case .connectTimeout:
            .init(
                "connect_timeout", .integer(100...60_000), "5000", unit: "ms",
                "Longest wait for a connection to a provider.")
        case .requestTimeout:
            .init(
                "request_timeout", .integer(100...120_000), "10000", unit: "ms",
                "Longest wait for the answer to one push.")
        case .queueSize:
            .init(
                "queue_size", .integer(1...10_000_000), "100000",
                "How many pushes may wait for one provider and credential. If there are more, the least urgent is refused (refreshes first, then messages, then calls); log and result say so. The limit of a Web Push service is a sixteenth of it."
            )
        case .maxFail:
            .init(
                "max_fail", .integer(0...1_000_000), "10000",
                "After so many failures in a row the circuit of a credential opens: from time to time one push tries it, and the first success closes the circuit. 0: never."
            )
        case .httpProxy:
            .init(
                "http_proxy", .proxy, "",
                "HTTP proxy that all providers are reached through (CONNECT): host:port, or http://user:password@host:port; TLS to the proxy and SOCKS are not supported. Empty: none."
            )
        case .httpProxyAuth:
            .init(
                "http_proxy_auth", .path, "",
                "File whose first line is user:password for http_proxy; better than a password in the setting.")
        case .noProxy:
            .init(
                "no_proxy", .text, "",
                "Hosts that are reached without http_proxy, comma separated: names, .example.com for all below it, addresses, networks such as 10.0.0.0/8."
            )
        default: nil
        }
    }

    private static func vendorRow(_ key: SettingKey) -> SettingDescription? {
        switch key {
        case .apnsKey:
            .init(
                "apns_key", .path, "",
                "Apple's .p8 key file (AuthKey_XXXXXXXXXX.p8). Empty: only apns_cert, if that is set.")
        case .apnsKeyID:
            .init("apns_key_id", .text, "", "The ten characters of that key's id. Empty: those in the file's name.")
        case .apnsTeamID:
            .init("apns_team_id", .text, "", "The ten characters of your Apple team id.")
        case .apnsCert:
            .init(
                "apns_cert", .path, "",
                "Apple's push certificate with its key (.p12, .pfx, .pem, or .cer with .key beside it), or a directory with one for each app. If none covers an app, apns_key is used."
            )
        case .apnsCertPasswordFile:
            .init(
                "apns_cert_password_file", .path, "",
                "File with the password of apns_cert, if there is no file of the same name that ends in .pwd.")
        case .apnsEnvironment:
            .init(
                "apns_environment", .choice(["production", "sandbox"]), "production",
                "Which of Apple's two environments a token belongs to, if the phone does not say.")
        case .apnsURL:
            .init(
                "apns_url", .origin, "https://api.push.apple.com",
                "Apple's production service.")
        case .apnsSandboxURL:
            .init(
                "apns_sandbox_url", .origin, "https://api.sandbox.push.apple.com",
                "Apple's sandbox service.")
        case .apnsTopic:
            .init(
                "apns_topic", .text, "",
                "Topic of every push. Empty or set: the bundle id that the phone sent, with .voip for calls to a PushKit token; packagename: never with .voip; null: none, for a certificate with one topic; Apple refuses it with a .p8 key."
            )
        case .apnsPushType:
            .init(
                "apns_push_type", .choice(["auto", "no", "voip", "alert", "background"]), "auto",
                "apns-push-type of pushes to tokens that are not PushKit's. auto, voip: by event and token. alert, background: this one, but a refresh stays silent. no: the header is left out."
            )
        case .apnsTokenKind:
            .init(
                "apns_token_kind", .choice(["auto", "voip", "alert"]), "auto",
                "How to use an Apple token when the phone does not say what it is for (X-MPUSH i, push-token-type). voip: for calls through PushKit only. alert: for everything; a call is an alert too. auto: alert if apns_push_type is alert or background, else voip."
            )
        case .apnsMutableContent:
            .init(
                "apns_mutable_content", .choice(["auto", "messages", "never"]), "auto",
                "Which alerts a Notification Service Extension of the app may change, so that it can show the receiver's own name for the caller. auto: messages of plain and flexisip, and mailbox notices of flexisip. messages: messages and missed calls. never: none."
            )
        case .apnsConnections:
            .init("apns_connections", .integer(1...64), "1", "Connections to Apple at once, per environment.")
        case .fcmKey:
            .init(
                "fcm_key", .path, "",
                "Google's service-account JSON file, for every app without a file of its own. For more files: fcm_app1 to fcm_app1000 name a package or project, fcm_key1 to fcm_key1000 its file."
            )
        case .fcmApp:
            .init(
                "fcm_app", .text, "",
                "Package or project that fcm_key belongs to; needed only when no fcm_key is set and its file is fcmkey.PACKAGE.json."
            )
        case .fcmKeyDirectory:
            .init(
                "fcm_key_dir", .path, "",
                "Directory with fcmkey.json, for apps without a file of their own, and fcmkey.PACKAGE.json, for one package or project each. Empty: where fcm_key is."
            )
        case .fcmURL:
            .init("fcm_url", .origin, "https://fcm.googleapis.com", "Google's service.")
        case .fcmAndroidV2:
            .init(
                "fcm_android_v2", .flag, "0",
                "1: built-in payloads have Google's android_v2 (a preview) in place of android. Urgent pushes go as remote_notification, which battery saving does not delay; others as background_sync, which may come late."
            )
        case .fcmBandwidthConstrained:
            .init(
                "fcm_bandwidth_constrained", .flag, "0",
                "1: built-in payloads allow Google to deliver over networks with little bandwidth, such as satellites (bandwidth_constrained_ok)."
            )
        case .fcmConnections:
            .init(
                "fcm_connections", .integer(1...64), "4",
                "Connections to Google at once; each carries about 100 pushes at a time.")
        default: nil
        }
    }

    private static func openRow(_ key: SettingKey) -> SettingDescription? {
        switch key {
        case .vapidKey:
            .init(
                "vapid_key", .path, "",
                "P-256 private key, PEM, that signs for Web Push (VAPID). Phones get its public half in sip.vapid. Empty: no Web Push."
            )
        case .vapidSubject:
            .init(
                "vapid_subject", .text, "",
                "mailto: or https: URI under which a push service can reach you, with your own domain; Web Push needs it."
            )
        case .webPushHosts:
            .init(
                "webpush_hosts", .text,
                "fcm.googleapis.com,*.push.services.mozilla.com,*.push.apple.com,*.notify.windows.com",
                "Hosts that Web Push and UnifiedPush subscriptions may lead to, comma separated; *.example.com for all below it, * for any public host."
            )
        case .webPushAllowLocal:
            .init(
                "webpush_allow_local", .flag, "0",
                "Let subscriptions lead to loopback and private addresses, for a push service of your own; its host must be in webpush_hosts too."
            )
        case .webPushNavigate:
            .init(
                "webpush_navigate", .text, "",
                "https URL that a browser opens for a message or a missed call. If it is set, these are sent as declarative push messages, which Safari shows without a service worker. Empty: all pushes go to the app's service worker."
            )
        case .acrobits:
            .init("acrobits", .flag, "0", "1: push to Acrobits' apps through Acrobits' mediator.")
        case .acrobitsURL:
            .init("acrobits_url", .url, "https://pnm.cloudsoftphone.com/pnm2/send", "Acrobits' mediator.")
        default: nil
        }
    }

    private static func webhookRow(_ key: SettingKey) -> SettingDescription {
        switch key {
        case .webhookURL:
            .init(
                "webhook_url", .text, "",
                "https URL for pushes that no other provider sends; keywords in path and query, such as $token or TOKEN, are filled in. Empty: no webhook."
            )
        case .webhookMethod:
            .init(
                "webhook_method", .choice(["POST", "GET", "PUT", "PATCH", "DELETE"]), "POST",
                "HTTP method of the webhook.")
        case .webhookHeaders:
            .init(
                "webhook_headers", .text, "",
                "Header fields with keywords, separated by |, such as X-Caller: FROM | X-Event: <event>. Put secrets into webhook_header_file."
            )
        case .webhookHeaderFile:
            .init(
                "webhook_header_file", .path, "",
                "File with more header fields, one a line, such as Authorization: Bearer KEY. Explain and log never show them."
            )
        case .webhookBodyType:
            .init(
                "webhook_body_type", .choice(["json", "form", "text", "none"]), "json",
                "Type of the body; values are escaped accordingly. With GET there is no body.")
        case .webhookBody:
            .init(
                "webhook_body", .text, "",
                "Template of the body, with the keywords of payload templates. If it is empty and there is no file: all values, as JSON or as a form; for text, the text of the message."
            )
        case .webhookBodyFile:
            .init("webhook_body_file", .path, "", "File with the template of the body, in place of webhook_body.")
        case .webhookSecretFile:
            .init(
                "webhook_secret_file", .path, "",
                "File with the secret, at least 16 bytes, that signs x-pushwake-signature (HMAC-SHA-256). Empty: not signed."
            )
        case .webhookAnswers:
            .init(
                "webhook_answers", .text, "",
                "What HTTP statuses mean if they differ from the usual, such as 404=token-gone 409=token-gone 5xx=rejected."
            )
        case .webhookProviders:
            .init(
                "webhook_providers", .text, "*",
                "Values of pn-provider that the webhook serves, comma separated: names of your own, * for any that PushWake does not know, the name of a push service such as fcm to take it away from its own service."
            )
        case .webhookConnections:
            .init("webhook_connections", .integer(1...64), "4", "Connections to the webhook at once.")
        default:
            .init(
                "webhook_allow_local", .flag, "0",
                "Let webhook_url lead to loopback and private addresses, for a server of your own.")
        }
    }
}
