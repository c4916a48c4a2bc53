// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

extension EngineServer {
    /// Milliseconds for an engine on another socket to hear that it is no longer the only one on this store.
    private static let longestWait: Int64 = 3000

    /// Sees to it that nobody believes what an engine of before has left, and makes ready what tells clients of users
    /// without bindings; nil where others may write to the store unseen.
    ///
    /// ORDER: when the socket is ours, so that the file of a running engine stays; before the first request is read, so
    /// that no binding is stored that an old file does not have.
    static func openFilter(
        _ settings: Settings, _ store: any BindingStore, _ loop: Loop, _ log: EngineLog
    ) throws(EngineFailure) -> BindingFilterPublisher? {
        let path = BindingFilterFile.path(besides: settings.text(.engineSocket))
        if !BindingFilterFile.kill(path) {
            // It belongs to another user. Who believes it looks at the name now and then.
            SharedWords.unlink(path)
            SystemClock.wait(milliseconds: Int32(2 * BindingFilterReader.lookAgain))
        }
        switch settings.storeChoice {
        case .memory: return BindingFilterPublisher(path: path, store: store, share: nil, loop: loop, log: log)
        case .sqlite:
            guard let share = StoreShare(storePath: settings.text(.storePath)) else {
                log(.warning, "\(settings.text(.storePath))-lock cannot be locked: the PBX asks about each user")
                return nil
            }
            try waitForOthers(share, settings.text(.storePath))
            if share.hasOthers {
                let path = settings.text(.storePath)
                let others = FileUsers.having(path + "-lock").joined(separator: ", ")
                log(
                    .warning,
                    "another engine writes to \(path) too\(others.isEmpty ? "" : ": process \(others)"); calls that one holds the other does not know: let them share one engine (engine_mode=external), or give each a store_path"
                )
            }
            let buffered = store as? BufferedStore
            return BindingFilterPublisher(path: path, store: store, share: share, loop: loop, log: log) { isAlone in
                buffered?.isAlone = isAlone
                if let failure = buffered?.takeFailure() { log(.error, "the store: \(failure)") }
            }
        case .valkey: return nil
        }
    }

    private static func waitForOthers(_ share: StoreShare, _ path: String) throws(EngineFailure) {
        let end = SystemClock.monotonicMilliseconds() + longestWait
        while share.isReliedOn {
            guard SystemClock.monotonicMilliseconds() < end else {
                throw EngineFailure(
                    message:
                        "store_path: another engine has \(path) and does not make room; stop it, or share it (engine_mode=external)"
                )
            }
            SystemClock.wait(milliseconds: 20)
        }
    }
}
