// SPDX-License-Identifier: MIT

/// What an engine that runs can do with settings that were read again.
public struct SettingsChange: Equatable, Sendable {
    /// What it goes on with: the new values, and the old ones of what takes a restart.
    public private(set) var settings: Settings
    /// Names of those that count from now on.
    public private(set) var taken: [String] = []
    /// Names of those whose new value counts after a restart.
    public private(set) var waiting: [String] = []

    /// Compares.
    public init(from old: Settings, to new: Settings) {
        settings = new
        for key in SettingKey.allCases where old.text(key) != new.text(key) {
            let name = SettingsTable.description(of: key).name.description
            if key.takesRestart {
                // What was set once fits.
                try? settings.set(key, to: old.text(key))
                waiting.append(name)
            } else {
                taken.append(name)
            }
        }
        if old.fcmAccounts != new.fcmAccounts { taken.append("fcm_appN, fcm_keyN") }
    }

    /// Nothing is another.
    public var isEmpty: Bool { taken.isEmpty && waiting.isEmpty }
}

extension SettingKey {
    /// Whether what it decides is decided once, when the engine starts: where it listens, where bindings are and how
    /// they are found, and what memory is set aside.
    public var takesRestart: Bool {
        switch self {
        case .engineMode, .enginePath, .engineSocket, .engineSocketGroup, .coreDumps, .store, .storePath, .storeSync,
            .storeUser, .storePasswordFile, .storeTimeout, .storeBacklog, .storePrefix, .node, .nodeURI,
            .bindingsPerUser, .purr, .purrRotate, .purrKeep, .wait, .wakesKept, .refreshBefore, .refreshAll, .queueSize,
            .fastAGIListen, .fastAGIAllow, .fastAGITokenFile, .httpListen, .httpConnections, .upperServers, .upperPath,
            .upperPathHeader, .upperExpire, .rebuild, .keepUpperReg, .preferMD5Auth, .regRefresh, .removeOnRegfail,
            .removeOnReject, .secretKeyFile:
            true
        default: false
        }
    }
}
