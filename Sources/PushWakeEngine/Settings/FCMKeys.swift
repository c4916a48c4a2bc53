// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// All service accounts that the settings name, read from their files. A file that cannot be used is a problem of
/// its own apps: the others keep working.
struct FCMKeys {
    /// One account and what signs for it.
    struct Key {
        let account: ServiceAccount
        let signer: Signer
    }

    /// One for each file, in the order of the settings.
    let sources: [FCMKeySource]
    /// In the same order; nil where the file cannot be used.
    let keys: [Key?]
    /// The files as they were read, in the same order; nil where they could not be.
    private let stamps: [FileStamp?]
    let directory: FCMDirectory
    /// What is wrong, by setting.
    let problems: [SettingError]

    /// A file that was good in `old` and cannot be used now is used as it was, also under its new name; one that has not
    /// changed is not read again.
    init(_ settings: Settings, keeping old: FCMKeys? = nil) {
        var (names, problems) = Self.names(settings)
        let named = FCMKeySources(settings, names: names)
        problems += named.problems
        let known = old?.byPath ?? [:]
        var (keys, stamps) = ([Key?](), [FileStamp?]())
        for source in named.all {
            // ORDER: before the file is read: what is written meanwhile is seen at the next look.
            let stamp = FileStamp(source.path)
            let before = known[source.path]
            if let stamp, let before, before.stamp == stamp {
                keys.append(before.key)
                stamps.append(stamp)
                continue
            }
            do throws(KeyFileError) {
                let (account, signer) = try FCMKeyFile.read(source.path)
                keys.append(Key(account: account, signer: signer))
                stamps.append(stamp)
            } catch {
                // The name may be what is wrong.
                let kept = before?.key ?? old?.key(inPlaceOf: source)
                let ending = kept == nil ? "" : "; the key read before is still used"
                problems.append(SettingError(setting: source.setting, message: error.message + ending))
                keys.append(kept)
                stamps.append(nil)
            }
        }
        (self.keys, self.stamps) = (keys, stamps)
        sources = named.all
        directory = FCMDirectory(
            zip(named.all, keys).map { source, key in
                FCMDirectory.Entry(apps: source.apps, project: key?.account.project, isDefault: source.isDefault)
            })
        self.problems = problems
    }

    private var byPath: [String: (key: Key, stamp: FileStamp?)] {
        var found: [String: (key: Key, stamp: FileStamp?)] = [:]
        for index in sources.indices {
            if let key = keys[index] { found[sources[index].path] = (key, stamps[index]) }
        }
        return found
    }

    /// The key that served the very same apps.
    private func key(inPlaceOf source: FCMKeySource) -> Key? {
        let index = sources.firstIndex {
            $0.isDefault == source.isDefault && $0.apps == source.apps && (source.isDefault || !source.apps.isEmpty)
        }
        return index.flatMap { keys[$0] }
    }

    /// How many there will be; reads no file.
    static func count(_ settings: Settings) -> Int {
        FCMKeySources.areSet(in: settings) ? FCMKeySources(settings, names: names(settings).0).all.count : 0
    }

    /// The project that a package or project is pushed through, for somebody who only looks: when the only file
    /// cannot be read, the app stands in for its project.
    func project(for app: String) -> String? {
        switch directory.choice(for: app) {
        case .account(let index): keys[index]?.account.project
        case .broken, .none: sources.count > 1 ? nil : app
        }
    }

    /// The directory beside `fcm_key` need not be readable; one that was named must be.
    private static func names(_ settings: Settings) -> ([String], [SettingError]) {
        let directory = FCMKeySources.directory(settings)
        guard !directory.isEmpty else { return ([], []) }
        do throws(SystemError) {
            let names = try FileContent.names(in: directory, ending: ".json")
            let isEmpty = settings.isChanged(.fcmKeyDirectory) && !names.contains(where: FCMKeySources.isKeyName)
            let problem = SettingError(
                setting: "fcm_key_dir", message: "\(directory) holds no fcmkey.json and no fcmkey.PACKAGE.json")
            return (names, isEmpty ? [problem] : [])
        } catch {
            guard settings.isChanged(.fcmKeyDirectory) else { return ([], []) }
            let message = "cannot \(error); name a directory that is readable for the PBX"
            return ([], [SettingError(setting: "fcm_key_dir", message: message)])
        }
    }
}
