// SPDX-License-Identifier: MIT

internal import PushWakeClient
public import PushWakeCore

extension SettingsInspection {
    /// FlexiAPI: URL, apps and key belong together.
    mutating func inspectFlexiAPI() {
        let url = settings.text(.flexiAPIURL)
        guard !url.isEmpty else {
            if settings.isChanged(.flexiAPIKeyFile) || settings.isChanged(.flexiAPIApps) {
                add(
                    .error, .flexiAPIURL, "is empty, while flexiapi_key_file or flexiapi_apps is set; set the https URL"
                )
            }
            return
        }
        if FlexiAPIRequest(url: url) == nil {
            add(
                .error, .flexiAPIURL, "is not an https URL; write https://host/flexiapi, without /api/push_notification"
            )
        } else if url.contains("/push_notification") {
            add(
                .warning, .flexiAPIURL,
                "ends in the name of the interface, which is added; leave /api/push_notification out")
        }
        do throws(FlexiAPIApps.Mistake) {
            let apps = try FlexiAPIApps(setting: settings.text(.flexiAPIApps))
            if apps.isEmpty {
                add(
                    .error, .flexiAPIApps,
                    "is empty: nothing goes through FlexiAPI; name an app, such as apns.org.linphone.phone")
            }
            if let app = apps.unusable {
                add(
                    .warning, .flexiAPIApps,
                    "\"\(app.prefix(80))\" is refused by FlexiAPI, which takes letters, digits, _ and . in an app; name the bundle id or project that phones send"
                )
            }
        } catch {
            add(
                .error, .flexiAPIApps,
                "\"\(error.entry.prefix(80))\" names no app; write apns.BUNDLE or fcm.PROJECT, or apns or fcm alone")
        }
        guard depth >= .keys else { return }
        do throws(KeyFileError) {
            _ = try FlexiAPIKeyFile.read(settings.text(.flexiAPIKeyFile))
        } catch {
            add(.warning, .flexiAPIKeyFile, error.message)
        }
    }
}

extension SettingsInspection {
    /// What to say where nothing can be pushed; nil when a push service is set up, or its engine is somebody else's.
    public static func lack(of settings: Settings) -> String? {
        guard settings.text(.engineMode) == "supervised" else { return nil }
        let isSetUp = Provider.allCases.contains { $0.row.isSet(settings) }
        guard !isSetUp, settings.text(.flexiAPIURL).isEmpty else { return nil }
        return
            "no push service is set up, so no phone can be woken; set apns_key, fcm_key, webhook_url or what another service needs (docs/settings.md)"
    }

    mutating func inspectServices() {
        if let lack = Self.lack(of: settings) { add(.warning, "push services", lack) }
    }
}

extension SettingsInspection {
    /// Each of Apple's environments refuses the tokens of the other one.
    mutating func inspectAppleURLs() {
        if settings.text(.apnsURL).contains(".sandbox.") || settings.text(.apnsURL).contains(".development.") {
            add(
                .warning, .apnsURL,
                "is Apple's sandbox, which refuses the tokens of apps from the store (BadDeviceToken); leave it out, and set apns_environment = sandbox for phones that do not say what theirs is"
            )
        }
        if settings.text(.apnsSandboxURL).contains("//api.push.apple.com") {
            add(
                .warning, .apnsSandboxURL,
                "is Apple's production service, which refuses the tokens of debug builds (BadDeviceToken); leave it out"
            )
        }
    }

    /// Values that may be meant, and seldom are.
    mutating func inspectDoubtfulValues() {
        let wait = settings.integer(.wakeTimeout)
        if wait < Self.shortestWake {
            add(
                .warning, .wakeTimeout,
                "\(wait) s are over before most phones have started their app; write 20 or more")
        }
        if settings.integer(.bindingsPerUser) == 1 {
            add(
                .warning, .bindingsPerUser,
                "1 leaves one phone a user, and of an iPhone with a token for calls and one for messages only one of them; write 4 or more"
            )
        }
        if !WakingMethods(settings).contains("INVITE") {
            add(.warning, .wakeRequests, "calls wake no phone; add INVITE")
        }
        for row in SettingKey.allCases.map(SettingsTable.description(of:)) { inspectKind(of: row) }
    }

    /// What may be said of a value by its kind alone.
    private mutating func inspectKind(of row: SettingDescription) {
        switch row.kind {
        case .integer where row.unit.description == "ms":
            let value = settings.integer(row.key)
            guard (1..<Self.leastMilliseconds).contains(value) else { return }
            add(.warning, row.key, "\(value) ms are over at once; write \(value * 1000) for \(value) s")
        case .textOrFile where settings.text(row.key).hasPrefix("/"):
            add(
                .warning, row.key,
                "the name of a file would be sent as it stands; write @\(settings.text(row.key).prefix(80)) for what is in it"
            )
        default: return
        }
    }

    /// Whoever writes fewer has probably counted in seconds.
    private static var leastMilliseconds: Int64 { 10 }

    /// Seconds that a sleeping phone needs from the push to its REGISTER, on a good network.
    private static var shortestWake: Int64 { 5 }
}

extension SettingsInspection {
    mutating func inspectUpstream() {
        for entry in UpstreamServers.mistakes(in: settings.text(.upperServers)) {
            add(
                .error, .upperServers,
                "\"\(entry.prefix(80))\" is not a server; write pbx.example.com, 192.0.2.1:5080 or *.example.com")
        }
        if !settings.text(.upperServers).isEmpty, !["sqlite", "memory"].contains(settings.text(.store)) {
            add(
                .error, .upperServers,
                "a gateway looks up bindings in a store of its own; set store = sqlite or memory, or leave upper_servers out"
            )
        }
        let contact = settings.text(.upperContact)
        if !contact.isEmpty, HostPort(contact) == nil {
            add(
                .error, .upperContact, "\"\(contact.prefix(80))\" is neither a host nor host:port; write 192.0.2.5:5060"
            )
        }
        let path = settings.text(.secretKeyFile)
        guard depth >= .keys, !path.isEmpty else { return }
        do throws(KeyFileError) {
            _ = try SecretKeyFile.read(path)
        } catch {
            add(.warning, .secretKeyFile, error.message)
        }
    }

    /// How long a phone that stays away is remembered.
    mutating func inspectPersistence() {
        let (persist, offline) = (settings.integer(.persist), settings.integer(.clientMaxOffline))
        if offline > 0, persist > offline {
            add(
                .warning, .persist,
                "bindings end after \(offline) days all the same: client_max_offline; set that to \(persist) or 0")
        }
    }
}
