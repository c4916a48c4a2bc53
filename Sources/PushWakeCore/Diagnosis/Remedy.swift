// SPDX-License-Identifier: MIT

/// What to do about a push that fails, a provider that cannot be reached and a phone that stays silent: the one table, by
/// the reason, for doctor, trace, page and log.
public enum Remedy {
    /// After a push that ended so; empty for one that was accepted. `reason` is the provider's own word, or what was wrong
    /// with the connection, as a `Verdict` has it.
    public static func push(_ outcome: Outcome, _ reason: String, _ provider: Provider) -> String {
        if outcome == .accepted { return "" }
        let cause = withoutCircuit(reason)
        if isAboutTime(cause) { return clock }
        if let text = word(cause, outcome, provider) { return text }
        if outcome == .unavailable || outcome == .misconfigured, let text = connection(cause, provider) { return text }
        return general(outcome)
    }

    /// A push service to which no connection can be made; `problem` is what was tried last.
    public static func unreachable(_ problem: String, _ provider: Provider) -> String {
        connection(problem, provider) ?? general(.unavailable)
    }

    /// A phone whose pushes are accepted, and that does not register.
    public static func silence(_ provider: Provider) -> String {
        "\(provider.row.phoneRemedy); start the app once, and see whether it registers when it is pushed (pushwake send call)"
    }

    /// A token or certificate that is not good at this time.
    public static let clock =
        "set this machine's clock and keep it right by NTP (timedatectl, chronyc tracking): the tokens for Apple and Google carry its time"
    private static let shorter =
        "make the payload shorter, or take the app's default: pushwake explain shows what is sent"
    /// A token that is dead.
    static let newToken = "open the app on the phone, so that it registers with a token of today; it must be logged in"
    /// What lets a service account send.
    static let permission =
        "in the Google Cloud console enable the Firebase Cloud Messaging API for the project, and give the service account the role Firebase Cloud Messaging API Admin"
    /// What lets Google push to iPhones and browsers in the name of an app.
    static let thirdParty =
        "in the Firebase console (Project settings, Cloud Messaging) give this app a valid APNs key, or a browser its Web Push certificate"

    // MARK: The engine

    /// Bindings that cannot be read or stored for this reason.
    public static func store(_ reason: String, isShared: Bool) -> String {
        isShared
            ? "repair the server of store, or the way to it: the log says since when it is away" : engine(reason)
    }

    /// Its file was taken away or replaced while an engine had it open.
    public static let fileIsGone = "start the engine anew: phones are bound again by their next REGISTER"

    /// What an engine said before it ended.
    public static func engine(_ reason: String) -> String {
        if reason.contains("No space left") || reason.contains("is full") {
            return "make room on the file system of store_path"
        }
        return "pushwake check FILE names what an engine cannot use; the log of the PBX has its lines"
    }

    /// Nobody has said why there is none.
    public static let noEngine =
        "start the PBX or `pushwake engine`, or give --socket; a PBX that runs has not loaded the module, or the module refuses its settings (pushwake check): see its log"

    /// It runs and does not answer.
    public static let hung =
        "it hangs: look at the disk under store_path and at the machine's load; its supervisor ends it after 40 s and starts another"

    // MARK: The call

    /// A phone that answers a call so.
    static func answer(_ status: Int) -> String {
        switch status {
        case 488, 606, 415, 421:
            return
                "the phone refuses what the caller offers: compare codecs and encryption (SRTP) of both, and what the PBX makes of them"
        case 486, 600:
            return
                "the phone says that it is busy: end its other calls and do-not-disturb, or let the app take a second call"
        case 603, 607, 608, 480:
            return "the phone declines by itself: look at do-not-disturb and blocked callers in the app"
        case 401, 403, 407:
            return "the app wants the PBX to log in: let it take calls from the PBX's address without that"
        case 404, 410, 416, 484, 604:
            return "the app does not know who is called: compare its account with the contact that it registers"
        case 300...399: return "the phone forwards its calls: look at forwarding in the app"
        default: return "the app refuses the call by itself: look at its log; the push has done its work"
        }
    }

    /// It has the INVITE and does nothing.
    static let noRing = "the app got the INVITE and did not ring: look at its log; the push has done its work"
    static let late =
        "the phone woke after the caller's time: raise wake_timeout, and see how long phones take (pushwake stats: wake_p90_ms)"
    /// The caller's end after so many milliseconds: a person's, or a dialplan's.
    static func gaveUp(after milliseconds: Int64) -> String {
        "the call was given up after \(TraceText.duration(milliseconds)), before the phone came: if nobody hung up, let Dial() and queues ring for 20 s or more (timeout), as well as the server that calls"
    }

    /// It has an address to which no way leads.
    static let address =
        "the contact of the phone cannot be reached: behind NAT let the server answer to where the REGISTER came from (set_contact_alias(), rewrite_contact), behind a proxy keep its Path (use_path, support_path), and keep the connection open"
    /// It woke, and said nothing.
    static let mute =
        "the INVITE did not reach the phone, or its app did not answer: look at NAT and firewall, take TCP or TLS for INVITEs that are longer than a UDP packet, then look at the app's log"
    static let otherToken =
        "let the app send a token for calls: pushwake parse FILE with a captured REGISTER shows what it sends"
    static let noPhone = "open the app on the phone, so that it registers; it must be logged in"

    /// What is looked at where a provider calls good tokens bad.
    public static func setup(of provider: Provider) -> String {
        switch provider {
        case .apns: "check apns_environment, apns_topic and the app's bundle id"
        case .fcm: "check whether fcm_key is of the project that the app was built with"
        case .webpush: "check vapid_key, and whether something answers in the service's place"
        case .acrobits: "check the app's id at Acrobits"
        case .webhook: "check what webhook_url leads to, and webhook_answers"
        case .harmonyos: "check whether harmonyos_key is of the project that the app was built with"
        }
    }

    // MARK: The provider's own words

    /// A circuit names the reason that opened it in brackets.
    private static func withoutCircuit(_ reason: String) -> String {
        let beginning = "CircuitOpen ("
        guard reason.hasPrefix(beginning) else { return reason }
        return String(reason.dropFirst(beginning.count).dropLast())
    }

    /// Tokens have `iat`, certificates `notBefore` and `notAfter`. Apple takes a token of the last hour: who makes one anew
    /// and hears this again has a clock that is behind.
    private static func isAboutTime(_ reason: String) -> Bool {
        reason.hasPrefix("ExpiredProviderToken") || reason.contains("(iat)")
    }

    private static func word(_ reason: String, _ outcome: Outcome, _ provider: Provider) -> String? {
        let word = reason.prefix { $0 != " " && $0 != ":" }
        switch word {
        case "PayloadTooLarge": return shorter
        case "HTTP" where reason == "HTTP 413": return shorter
        case "UNREGISTERED", "Unregistered", "ExpiredToken": return newToken
        // Ours, not the provider's.
        case "SwitchedOff":
            return "set load_call, for calls, or load_chat, for all else, to always: never is what they say"
        case "LoadLevel":
            return
                "the engine is too busy for it: pushwake stats shows what is (load_cpu_percent, load_lag_ms, load_queue_percent)"
        default: break
        }
        switch provider {
        case .apns: return apple(word)
        case .fcm: return google(word, outcome)
        case .webpush where outcome == .tokenGone && isAboutKey(reason):
            return
                "vapid_key is another than the page subscribed with: put the former one back, or let the page subscribe anew"
        default: return nil
        }
    }

    private static func apple(_ word: Substring) -> String? {
        switch word {
        case "BadDeviceToken":
            return
                "compare apns_environment with the app: built by Xcode it has tokens of the sandbox, from TestFlight and the App Store those of production; if they agree, the app sends a wrong token"
        case "DeviceTokenNotForTopic", "BadTopic", "MissingTopic":
            return "set apns_topic to the app's bundle id, or let the app send its own in pn-param"
        case "TopicDisallowed":
            return
                "compare apns_topic with the app's bundle id, and take apns_key, apns_key_id and apns_team_id from the team that owns the app"
        case "InvalidProviderToken":
            return
                "compare apns_key, apns_key_id and apns_team_id with Apple's developer account: they do not belong together, or the key was revoked"
        case "BadEnvironmentKeyIdInToken", "BadCertificateEnvironment":
            return
                "compare apns_environment with what Apple made the key or certificate for: production, sandbox or both"
        case "BadCertificate", "NoCertificateForTopic":
            return "put a certificate from Apple for this app's bundle id in apns_cert, or set apns_key"
        default: return nil
        }
    }

    private static func google(_ word: Substring, _ outcome: Outcome) -> String? {
        switch (word, outcome) {
        case ("NOT_FOUND", .tokenGone): return newToken
        case ("SENDER_ID_MISMATCH", _):
            return
                "the app belongs to another Firebase project: put the service account of the app's project in fcm_key, or beside it in fcm_app1 and fcm_key1"
        case ("NoServiceAccount", _):
            return "set fcm_app1 and fcm_key1 (and so on) to this app's package and its project's service account"
        case ("INVALID_ARGUMENT", .tokenGone):
            return
                "what the app sends as pn-prid is not a Firebase token: look at what it registers with (pushwake parse)"
        case ("NOT_FOUND", .misconfigured): return "compare the project_id in fcm_key with the Firebase console"
        case ("UNAUTHENTICATED", _), ("OAuth", .misconfigured):
            return "make a new key for the service account in the Google Cloud console, and put it in fcm_key"
        case ("PERMISSION_DENIED", _): return permission
        case ("QUOTA_EXCEEDED", _):
            return
                "wait; when it happens often, raise the quota of the project in the Google Cloud console, or let fewer pushes go to one phone: device_pushes"
        case ("THIRD_PARTY_AUTH_ERROR", _): return thirdParty
        default: return nil
        }
    }

    private static func isAboutKey(_ reason: String) -> Bool {
        let text = reason.lowercased()
        return text.contains("vapid") || text.contains("credentials used to create")
    }

    // MARK: The way to the provider

    private static func connection(_ problem: String, _ provider: Provider) -> String? {
        let url = provider == .webpush ? "webpush_hosts" : "\(provider.name)_url"
        func says(_ words: String...) -> Bool { words.contains { problem.contains($0) } }
        if says("cannot resolve", "has no address") {
            return
                "let this machine resolve the name (getent hosts NAME, /etc/resolv.conf), or compare \(url); where only a proxy may, set http_proxy"
        }
        if says("the proxy wants") { return "set http_proxy_auth to a file with the proxy's user:password" }
        if says("the proxy") {
            return "let the proxy of http_proxy pass CONNECT to \(provider.name)'s hosts on port 443, or set another"
        }
        if says("refuses the client certificate") {
            return
                "put a new certificate from Apple in apns_cert; where none is set, let Apple's hosts pass uninspected"
        }
        if says("offers no HTTP/2") {
            return "something on the way inspects TLS: let \(provider.name)'s hosts pass uninspected"
        }
        if says("not yet valid", "has expired") {
            return
                "compare this machine's clock with the time (timedatectl); if it is right, the certificate of the server, or of what inspects TLS on the way, must be renewed"
        }
        if says("it was issued by") {
            return
                "let \(provider.name)'s hosts pass uninspected, or add the certificate of the authority that inspects TLS to ca_file"
        }
        if says("mismatch") {
            return "what answers has a certificate that is not for that name: compare \(url), DNS and the proxy"
        }
        if says("certificate") { return "add the certificate of the server's authority to ca_file" }
        if says("wrong version number", "handshake", "SSL") {
            return "what answers there does not speak TLS: compare the port of \(url), and http_proxy"
        }
        if says("Connection refused") {
            return "nothing listens there, or a firewall refuses: compare \(url) and http_proxy"
        }
        if says("no connection to", "imed out", "unreachable", "No route") {
            return "let this machine reach \(provider.name) over TCP (firewall, routes), or set http_proxy"
        }
        return nil
    }

    // MARK: Without a reason

    private static func general(_ outcome: Outcome) -> String {
        switch outcome {
        case .accepted: ""
        case .tokenGone: newToken
        case .rejected: "see what would be sent (pushwake explain), and what the log says that the provider refuses"
        case .misconfigured:
            "compare key, key id, team, topic and environment with the provider's console, and the clock with the time; the log has the provider's word"
        case .throttled: "wait; when it happens often, fewer pushes must go to this phone: device_pushes"
        case .unavailable: "look at the way to the provider: firewall, http_proxy, DNS; the log has the reason"
        case .expired: "see whether the provider is reached, and look at wake_timeout: the push did not leave in time"
        case .overloaded: "look at pushwake stats: the engine has more pushes than it can send"
        }
    }
}
