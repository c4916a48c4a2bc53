// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// How the core asks for bindings: it asks and goes on. SQLite and memory answer before `ask` returns, a store that nodes
/// share answers later; what is written after the question is the same for both.
extension EngineCore {
    /// Reads or changes the bindings of one user. `work` must do nothing but ask the store it is given: a shared one may let
    /// it run again (`SharedStore`).
    ///
    /// `announcement` is for nodes that hold requests for the user; `keepsTrying`: a change that a shared store cannot keep
    /// now is kept later.
    func ask<Answer>(
        about aor: String, keepsTrying: Bool = false,
        announcing announcement: @autoclosure @escaping () -> [UInt8]? = nil,
        _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>) -> Void
    ) {
        guard let shared else { return then(direct(work)) }
        shared.ask(
            about: aor, now: SystemClock.wallSeconds(), keepsTrying: keepsTrying, announcing: announcement(), work,
            then: then)
    }

    /// Reads the bindings of a user for a request that may be held. Where other nodes do not know of it, its user is looked
    /// at again and again.
    func hold<Answer>(
        for message: WakeMessage, _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>, HoldState) -> Void
    ) {
        guard let shared else { return then(direct(work), HoldState()) }
        // Longer than the request is held: phones may come late.
        shared.hold(
            for: message.aor, claim: message.key.claim,
            seconds: context.holdSeconds(of: message) + Self.retention / 1000,
            now: SystemClock.wallSeconds(), work
        ) { [weak self] result, state in
            then(result, state)
            if case .success = result, !state.isKnown { self?.lookLater(at: message.aor) }
        }
    }

    /// Reads the bindings of the user who was told a PURR.
    func ask<Answer>(
        aboutPURR purr: PURR, _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>) -> Void
    ) {
        guard let shared else { return then(direct(work)) }
        shared.ask(aboutPURR: purr, now: SystemClock.wallSeconds(), work, then: then)
    }

    /// How the store is that this engine asks, its own or the one that nodes share.
    var storeState: StoreState {
        if let shared {
            return StoreState(isUsable: shared.isReady && shared.refusal == nil)
        }
        switch direct({ (store) throws(StoreError) in try store.count() }) {
        case .success(let count):
            return StoreState(isUsable: storeRefusal == nil && storeFile?.isInPlace != false, bindings: count)
        case .failure: return StoreState(isUsable: false)
        }
    }

    /// REGISTERs that the store has not taken yet.
    var registersWaiting: Int { shared?.backlog ?? late.count }

    /// Asks the store of this process: the short way for what comes with each call, which makes no closure that stays.
    func direct<Answer>(
        _ work: (any BindingStore) throws(StoreError) -> Answer
    ) -> Result<Answer, StoreError> {
        do throws(StoreError) {
            return .success(try work(store))
        } catch {
            note(error)
            return .failure(error)
        }
    }

    /// The store of this process has failed; `lookAtStore` finds out when that is over.
    func note(_ failure: StoreError) {
        guard case .corrupt = failure else { return storeFault = failure }
        // Rows that cannot be read are left out and named: this is of the file, and no write that works would mend it.
        guard storeDamage == nil else { return }
        storeDamage = failure
        context.log(.error, "\(failure)")
    }

    /// Asks a store that has failed whether it takes changes again: nobody else may ask it any more.
    func lookAtStore() {
        tellOfJumpAgain()
        guard storeFault != nil else { return }
        do throws(StoreError) {
            try store.tryWriting()
            // There may be room for a page, and none for a binding.
            guard storeNextLate() == nil else { return }
            storeFault = nil
            context.log(.notice, "the store can be written again")
            storeAllLate()
        } catch {
            note(error)
        }
    }

    /// Why nothing can be stored now; nil while it can.
    var storeRefusal: StoreError? {
        guard let shared else { return storeDamage ?? storeFault }
        return shared.refusal
    }
}

/// The file of a store: who takes it away while the engine has it open leaves an engine that forgets all at its end.
struct StoreFile {
    let path: String
    private let opened: FileStamp
    private var isSaid = false

    /// The file as it is opened; nil when there is none.
    init?(_ path: String) {
        guard let stamp = FileStamp(path) else { return nil }
        self.path = path
        opened = stamp
    }

    /// The path still leads to it.
    var isInPlace: Bool { FileStamp(path)?.isSameFile(as: opened) == true }

    /// Looks whether it does; the path, once, when it does not.
    mutating func foundMissing() -> String? {
        guard !isSaid, !isInPlace else { return nil }
        isSaid = true
        return path
    }
}

/// Whether bindings can be read and written and last, and how much there is.
struct StoreState {
    let isUsable: Bool
    /// Nil where nobody counts them: those that nodes share, and those that cannot be read.
    var bindings: Int?
}

extension WakeKey {
    /// The same on all nodes, and short (FNV-1a, 64 bits): two requests of one user that share it would share a push.
    var claim: String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in "\(callID)\n\(cseq)\n\(event.rawValue)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(hash, radix: 36)
    }
}
