// SPDX-License-Identifier: MIT

/// All service-account files that the settings name, whether they can be read or not.
public struct FCMKeySources: Equatable, Sendable {
    private static let prefix = "fcmkey."
    private static let suffix = ".json"

    /// In the order in which they were named; one for each file.
    public private(set) var all: [FCMKeySource] = []
    /// Settings that make no sense together, and the remedy.
    public private(set) var problems: [SettingError] = []

    /// Whether the settings ask for FCM at all; reads nothing.
    public static func areSet(in settings: Settings) -> Bool {
        [SettingKey.fcmKey, .fcmKeyDirectory].contains { !settings.text($0).isEmpty } || !settings.fcmAccounts.isEmpty
    }

    /// The directory to look for `fcmkey….json` in; empty when there is none.
    public static func directory(_ settings: Settings) -> String {
        let named = settings.text(.fcmKeyDirectory)
        guard named.isEmpty else { return named }
        let file = settings.text(.fcmKey)
        guard !file.isEmpty else { return "" }
        guard let slash = file.lastIndex(of: "/") else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }

    /// Whether a file of this name in that directory holds a service account.
    public static func isKeyName(_ name: String) -> Bool { name == "fcmkey.json" || package(in: name) != nil }

    /// Puts the settings and the names in the directory together.
    public init(_ settings: Settings, names: [String]) {
        let directory = Self.directory(settings)
        let path = { (name: String) in directory == "." ? name : "\(directory)/\(name)" }
        addDefault(settings, names, path)
        for pair in settings.fcmAccounts {
            let setting = "fcm_key\(pair.number)"
            if !pair.file.isEmpty {
                add(FCMKeySource(setting: setting, path: pair.file, apps: pair.app.isEmpty ? [] : [pair.app]))
            } else if directory.isEmpty {
                problems.append(
                    SettingError(
                        setting: setting, message: "is missing: set it to the service-account file of \(pair.app)"))
            } else {
                let file = path(Self.prefix + pair.app + Self.suffix)
                add(FCMKeySource(setting: setting, path: file, apps: [pair.app]))
            }
        }
        for name in names.sorted() {
            guard let package = Self.package(in: name), !all.contains(where: { $0.apps.contains(package) }) else {
                continue
            }
            add(FCMKeySource(setting: "fcm_key_dir", path: path(name), apps: [package]))
        }
        // Nobody names an app who has only one file.
        if all.count == 1, all[0].apps.isEmpty { all[0].isDefault = true }
    }

    private mutating func addDefault(_ settings: Settings, _ names: [String], _ path: (String) -> String) {
        let file = settings.text(.fcmKey)
        let app = settings.text(.fcmApp)
        let apps = app.isEmpty ? [] : [app]
        if !file.isEmpty {
            add(FCMKeySource(setting: "fcm_key", path: file, apps: apps, isDefault: true))
        } else if names.contains("fcmkey.json") {
            add(FCMKeySource(setting: "fcm_key_dir", path: path("fcmkey.json"), apps: apps, isDefault: true))
        } else if !app.isEmpty, names.contains(Self.prefix + app + Self.suffix) {
            let file = path(Self.prefix + app + Self.suffix)
            add(FCMKeySource(setting: "fcm_key_dir", path: file, apps: apps, isDefault: true))
        }
    }

    /// One file may serve several apps, but no app two files.
    private mutating func add(_ source: FCMKeySource) {
        var source = source
        source.apps.removeAll { app in
            guard let other = all.first(where: { $0.apps.contains(app) && $0.path != source.path }) else {
                return false
            }
            problems.append(
                SettingError(
                    setting: source.setting,
                    message: "\(app) has \(other.path) already (\(other.setting)); \(source.path) is not used for it"))
            return true
        }
        guard let index = all.firstIndex(where: { $0.path == source.path }) else { return all.append(source) }
        for app in source.apps where !all[index].apps.contains(app) { all[index].apps.append(app) }
        if source.isDefault { all[index].isDefault = true }
    }

    private static func package(in name: String) -> String? {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix), name.utf8.count > prefix.utf8.count + suffix.utf8.count
        else { return nil }
        return String(name.dropFirst(prefix.count).dropLast(suffix.count))
    }
}

/// A service-account file that the settings name, and whom it is for.
///
/// | where | for whom |
/// |---|---|
/// | `fcm_keyN` | package or project `fcm_appN`, and its own project |
/// | `fcmkey.PACKAGE.json` | package or project PACKAGE, and its own project |
/// | `fcm_key`, else `fcmkey.json` | everybody else |
public struct FCMKeySource: Equatable, Sendable {
    /// Setting to name when the file cannot be used.
    public let setting: String
    /// Of the JSON file; relative where the settings are.
    public let path: String
    /// Packages and projects that were named for it.
    public internal(set) var apps: [String]
    /// It serves every app that none other serves.
    public internal(set) var isDefault: Bool

    public init(setting: String, path: String, apps: [String] = [], isDefault: Bool = false) {
        self.setting = setting
        self.path = path
        self.apps = apps
        self.isDefault = isDefault
    }
}
