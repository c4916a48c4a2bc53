// SPDX-License-Identifier: MIT

public import PushWakeClient
public import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Looks at all settings together and at the files they name.
public struct SettingsInspection {
    /// One thing that is wrong, and the remedy.
    public struct Finding: Equatable, Sendable {
        /// `error`: the value is wrong, do not start. `warning`: calls go through, pushes will not.
        public let level: LogLevel
        /// Name of the setting to change.
        public let setting: String
        /// What is wrong and what to do.
        public let message: String
    }

    private static let appleIDLength = 10

    let settings: Settings
    let depth: Depth
    private let now: Int64
    private var findings: [Finding] = []

    /// How far to look.
    public enum Depth: Int, Comparable, Sendable {
        /// At the values, and at text files. No key is read: a PBX process does this, where OpenSSL may belong to
        /// somebody else (Kamailio's tls module replaces its allocator).
        case values
        /// At keys and certificates too, as the engine does when it starts.
        case keys
        /// At what else a start needs: directories, the program, a free port, and who can read the secrets.
        case surroundings

        public static func < (a: Depth, b: Depth) -> Bool { a.rawValue < b.rawValue }
    }

    /// All findings, errors first.
    public static func inspect(_ settings: Settings, depth: Depth = .keys) -> [Finding] {
        var inspection = SettingsInspection(settings: settings, depth: depth, now: SystemClock.wallSeconds())
        inspection.inspectAPNs()
        inspection.inspectAPNsCertificates()
        inspection.inspectFCM()
        inspection.inspectWebPush()
        inspection.inspectWebhook()
        inspection.inspectFlexiAPI()
        inspection.inspectHarmonyOS()
        inspection.inspectAuthorities()
        inspection.inspectProxy()
        inspection.inspectTemplates()
        inspection.inspectFastAGI()
        inspection.inspectHTTP()
        inspection.inspectPaths()
        inspection.inspectUpstream()
        inspection.inspectPersistence()
        if depth >= .surroundings {
            inspection.inspectSurroundings()
            inspection.inspectServices()
            inspection.inspectDoubtfulValues()
        }
        let pasted = PastedSecrets(settings)
        return inspection.findings.sorted { $0.level < $1.level }.map {
            Finding(level: $0.level, setting: $0.setting, message: pasted.hide(in: $0.message))
        }
    }

    private init(settings: Settings, depth: Depth, now: Int64) {
        self.settings = settings
        self.depth = depth
        self.now = now
    }

    mutating func add(_ level: LogLevel, _ key: SettingKey, _ message: String) {
        add(level, SettingsTable.description(of: key).name.description, message)
    }

    mutating func add(_ level: LogLevel, _ setting: String, _ message: String) {
        findings.append(Finding(level: level, setting: setting, message: message))
    }

    private mutating func inspectAPNs() {
        if !APNsTopic(setting: settings.text(.apnsTopic)).isSendable {
            add(
                .error, .apnsTopic,
                "\"\(settings.text(.apnsTopic).prefix(80))\" cannot be a topic; write a bundle id such as com.example.phone, or leave it empty"
            )
        }
        let path = settings.text(.apnsKey)
        inspectAppleURLs()
        inspectTopic(isSet: !path.isEmpty || !settings.text(.apnsCert).isEmpty, hasKey: !path.isEmpty)
        guard !path.isEmpty else {
            if settings.isChanged(.apnsKeyID) || settings.isChanged(.apnsTeamID) {
                add(.error, .apnsKey, "a key id or team id is set but no key; set apns_key to Apple's .p8 file")
            }
            return
        }
        if APNsKeyFile.keyID(settings).isEmpty {
            add(
                .error, .apnsKeyID,
                "is missing and the file name of apns_key does not tell it; set the key's ten characters")
        }
        if settings.text(.apnsTeamID).isEmpty {
            add(.error, .apnsTeamID, "is missing; set the ten characters of your Apple team id")
        }
        for key in [SettingKey.apnsKeyID, .apnsTeamID] where !settings.text(key).utf8.allSatisfy(Self.isWordCharacter) {
            add(
                .error, key,
                "\"\(settings.text(key).prefix(40))\" holds something else than letters and digits; copy it from Apple's site"
            )
        }
        let ids = [
            (SettingKey.apnsKeyID, APNsKeyFile.keyID(settings)), (.apnsTeamID, settings.text(.apnsTeamID)),
        ]
        for (key, value) in ids where !value.isEmpty && value.utf8.count != Self.appleIDLength {
            add(
                .warning, key,
                "\"\(value.prefix(40))\" has not the ten characters that Apple's ids have; copy it from Apple's site")
        }
        // One of another length is to be copied anew anyway.
        for (key, value) in ids
        where value.utf8.count == Self.appleIDLength && value.utf8.contains(where: { $0 >= 0x61 && $0 <= 0x7A }) {
            add(
                .warning, key,
                "\"\(value.prefix(40))\" has small letters, which Apple's ids have not; write \(value.prefix(40).uppercased())"
            )
        }
        let named = APNsKeyFile.keyID(inNameOf: path)
        if !named.isEmpty, APNsKeyFile.keyID(settings) != named {
            add(
                .warning, .apnsKeyID,
                "is \(settings.text(.apnsKeyID).prefix(40)), and apns_key is named after key \(named.prefix(40)); Apple refuses pushes when they do not belong together"
            )
        }
        guard depth >= .keys else { return }
        do throws(KeyFileError) {
            _ = try APNsKeyFile.read(path)
        } catch {
            add(.warning, .apnsKey, error.message)
        }
    }

    /// What Mizutech's server has of topics is for a certificate of one app.
    private mutating func inspectTopic(isSet: Bool, hasKey: Bool) {
        let topic = APNsTopic(setting: settings.text(.apnsTopic))
        if let mistake = topic.mistake { add(.warning, .apnsTopic, mistake) }
        switch topic {
        case .omitted where hasKey:
            add(
                .warning, .apnsTopic,
                "null sends no topic, and Apple refuses each push with a .p8 key that has none (MissingTopic); leave apns_topic empty"
            )
        case .package where isSet:
            add(
                .warning, .apnsTopic,
                "packagename leaves .voip out, and Apple refuses each call to a PushKit token without it (DeviceTokenNotForTopic); leave apns_topic empty"
            )
        case .automatic, .omitted, .package, .fixed: break
        }
    }

    private mutating func inspectAPNsCertificates() {
        guard !settings.text(.apnsCert).isEmpty else {
            if !settings.text(.apnsCertPasswordFile).isEmpty {
                add(
                    .error, .apnsCert, "a password file is set but no certificate; set apns_cert to Apple's certificate"
                )
            }
            return
        }
        guard depth >= .keys else { return }
        do throws(KeyFileError) {
            let paths = try APNsCertificateFiles.paths(settings)
            if paths.isEmpty {
                add(
                    .warning, .apnsCert,
                    "\(settings.text(.apnsCert)) holds no certificate yet; put .p12 or .pem files there")
            }
            for problem in APNsCertificateFiles(paths, settings).allProblems(now: now) {
                add(.warning, .apnsCert, problem)
            }
        } catch {
            add(.warning, .apnsCert, error.message)
        }
    }

    private mutating func inspectFCM() {
        guard FCMKeySources.areSet(in: settings) else { return }
        if depth >= .keys {
            for problem in FCMKeys(settings).problems { add(.warning, problem.setting, problem.message) }
        }
        inspectFCMAccounts()
    }

    private mutating func inspectFCMAccounts() {
        var first: [String: FCMAccountSettings.Pair] = [:]
        // A file that is alone serves every app.
        let isAlone = settings.fcmAccounts.count == 1 && settings.text(.fcmKey).isEmpty
        for pair in settings.fcmAccounts {
            if pair.app.isEmpty, !isAlone {
                let name = "fcm_app\(pair.number)"
                add(
                    .warning, "fcm_key\(pair.number)",
                    "\(name) is missing, so only phones that name the project of \(pair.file) are pushed with it; set \(name) to the package of the app"
                )
            } else if let other = first[pair.app], other.file == pair.file {
                // Two files for one app are a problem of the keys, and named there.
                add(
                    .warning, "fcm_app\(pair.number)",
                    "\(pair.app) is fcm_app\(other.number) already; remove one of them")
            } else if first[pair.app] == nil {
                first[pair.app] = pair
            }
        }
    }

    private mutating func inspectWebPush() {
        let path = settings.text(.vapidKey)
        let subject = settings.text(.vapidSubject)
        guard !path.isEmpty else {
            if !subject.isEmpty {
                add(.error, .vapidKey, "vapid_subject is set but no key; set vapid_key to a P-256 key")
            }
            if settings.isChanged(.webPushNavigate) {
                add(.error, .vapidKey, "webpush_navigate is set but no key; set vapid_key to a P-256 key")
            }
            return
        }
        if !APNsKeyFile.keyID(inNameOf: path).isEmpty {
            add(
                .warning, .vapidKey,
                "\(path) is named as Apple names its keys; set apns_key to that, and make one for Web Push (docs/webpush.md)"
            )
        }
        if VAPIDSubject(subject) == nil {
            let shown = subject.isEmpty ? "is empty" : "\"\(subject.prefix(80))\" is not a contact on the Internet"
            add(
                .error, .vapidSubject,
                "\(shown), and Apple refuses it; write mailto:you@example.com or https://example.com/, with your own domain"
            )
        }
        let isHost = { (host: String) in
            host == "*" || HTTPOrigin("https://\(host.hasPrefix("*.") ? String(host.dropFirst(2)) : host)")?.port == 443
        }
        let entries = settings.text(.webPushHosts).split(separator: ",", omittingEmptySubsequences: false)
        for entry in entries {
            let hosts = WebPushSettings.hosts(String(entry))
            guard hosts.isEmpty || !hosts.allSatisfy(isHost) else { continue }
            add(
                .error, .webPushHosts,
                "\"\(entry.prefix(80))\" is not a host; write names without https:// and port, or *"
            )
        }
        let navigate = settings.text(.webPushNavigate)
        if !navigate.isEmpty, HTTPOrigin.split(navigate) == nil {
            add(.error, .webPushNavigate, "is not an https URL; browsers drop the message; write https://host/path")
        }
        guard depth >= .keys else { return }
        do throws(KeyFileError) {
            _ = try VAPIDKeyFile.read(path)
        } catch {
            add(.warning, .vapidKey, error.message)
        }
    }

    private mutating func inspectWebhook() {
        for problem in WebhookSetup.problems(settings) {
            add(problem.isOfFile ? .warning : .error, problem.setting, problem.message)
        }
        for problem in WebhookSetup.unknownNames(settings) { add(.warning, problem.setting, problem.message) }
        let others: [SettingKey] = [
            .webhookHeaders, .webhookBody, .webhookSecretFile, .webhookProviders, .webhookAnswers,
        ]
        guard settings.text(.webhookURL).isEmpty, others.contains(where: settings.isChanged) else { return }
        add(.error, .webhookURL, "is empty, while other settings of the webhook are set; set it to an https URL")
    }

    private mutating func inspectAuthorities() {
        let path = settings.text(.caFile)
        guard !path.isEmpty, depth >= .keys else { return }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileContent.read(path)
        } catch {
            return add(.warning, .caFile, "cannot \(error); no provider can be verified without it")
        }
        do throws(TLSError) {
            let certificates = try Certificate.all(inPEM: bytes)
            if certificates.isEmpty { add(.warning, .caFile, "\(path) holds no certificate; give a PEM file") }
            for certificate in certificates where certificate.expiresAt < now {
                add(
                    .warning, .caFile,
                    "\(path): the certificate of \(certificate.subject("CN") ?? "an authority") has expired; renew it")
            }
        } catch {
            add(.warning, .caFile, "\(path): \(error.message); give a PEM file")
        }
    }

    private mutating func inspectProxy() {
        for problem in ProxyFile.problems(settings) { add(.warning, problem.key, problem.text) }
    }

    private mutating func inspectTemplates() {
        let (_, problems) = PayloadFiles.load(settings)
        for problem in problems { add(.warning, .templateDirectory, problem) }
    }

    private mutating func inspectFastAGI() {
        let address = settings.text(.fastAGIListen)
        guard !address.isEmpty else { return }
        let hasToken = !settings.text(.fastAGITokenFile).isEmpty
        var isOpen = false
        do throws(SettingError) {
            isOpen = try FastAGIServer.networks(settings.text(.fastAGIAllow)).isWide
        } catch {
            add(.error, .fastAGIAllow, error.message)
        }
        do throws(SettingError) {
            let socket = try FastAGIServer.socket(address)
            if isOpen, !hasToken, !HTTPSetup.isLoopback(socket) {
                add(
                    .warning, .fastAGIAllow,
                    "everybody who reaches \(address) can push and wake phones; name Asterisk's address here, or set fastagi_token_file"
                )
            }
        } catch {
            add(.error, .fastAGIListen, error.message)
        }
        do throws(SettingError) {
            _ = try FastAGIServer.token(settings.text(.fastAGITokenFile))
        } catch {
            add(.warning, .fastAGITokenFile, error.message)
        }
    }

    private mutating func inspectPaths() {
        for key in [SettingKey.engineSocket, .storePath] where settings.text(key).isEmpty {
            add(.error, key, "is empty; set a path")
        }
        // A shell would know whose home is meant; here it would be a directory of that name.
        for key in SettingKey.allCases where settings.text(key).hasPrefix("~/") {
            add(.error, key, "\(settings.text(key)) begins with ~, which only shells know; write the whole path")
        }
        for (name, value) in namedTexts where value.utf8.count > 1 && value.hasPrefix("'") && value.hasSuffix("'") {
            add(.warning, name, "the single quotes are part of the value; write double quotes, or none")
        }
        if settings.text(.engineSocket).utf8.count > 107 {
            add(
                .error, .engineSocket, "is longer than the 107 bytes that a Unix socket may have; choose a shorter path"
            )
        }
    }

    /// Every value with the name of its setting.
    private var namedTexts: [(String, String)] {
        SettingKey.allCases.map { (SettingsTable.description(of: $0).name.description, settings.text($0)) }
            + settings.fcmAccounts.flatMap { [("fcm_app\($0.number)", $0.app), ("fcm_key\($0.number)", $0.file)] }
    }

    private static func isWordCharacter(_ byte: UInt8) -> Bool {
        byte >= 0x30 && byte <= 0x39 || (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A
    }
}
