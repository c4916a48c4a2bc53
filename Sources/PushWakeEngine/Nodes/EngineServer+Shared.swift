// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

extension EngineServer {
    /// The store that nodes share, not connected yet; nil where this engine has one of its own.
    ///
    /// A server that is away keeps nobody from starting: calls go on without push until it is there.
    static func openShared(_ settings: Settings, _ loop: Loop, _ log: EngineLog) throws(EngineFailure) -> ValkeyStore? {
        guard case .valkey(let address) = settings.storeChoice else { return nil }
        let access = ValkeyAccess(
            address, passwordFile: settings.text(.storePasswordFile), caFile: settings.text(.caFile))
        var options = ValkeyStore.Options()
        options.timeout = settings.storeTimeout
        options.perUser = Int(settings.integer(.bindingsPerUser))
        options.prefix = settings.text(.storePrefix)
        options.node = NodeName.of(settings)
        options.nodeURI = settings.text(.nodeURI)
        do throws(StoreError) {
            return try ValkeyStore(access, options: options, loop: loop) { isWarning, text in
                log(isWarning ? .warning : .notice, "store: \(text)")
            }
        } catch {
            throw EngineFailure(message: "store: \(error)")
        }
    }
}

/// What this node is called among those that share a store.
enum NodeName {
    static func of(_ settings: Settings) -> String {
        let uri = settings.text(.nodeURI)
        return uri.isEmpty ? "\(SystemName.host):\(settings.text(.engineSocket))" : uri
    }
}
