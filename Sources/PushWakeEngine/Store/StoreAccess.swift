// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// How the engine asks for bindings: it asks and goes on. SQLite and memory answer before `ask` returns, a store that nodes
/// share answers later; what is written after the question is the same for both.
final class StoreAccess {
    let context: EngineContext
    /// In this process; empty where nodes share one. Per user ask with `ask`.
    let own: any BindingStore
    /// The store that nodes share; nil where there is none.
    let shared: (any SharedStore)?
    /// Nil without a file.
    var file: StoreFile?
    /// Why the store of this process could not be used last; nil while it can.
    var fault: StoreError?
    /// The file of the store is damaged: some of it can be used at best, until there is another. Nil while nothing is known of it.
    private var damage: StoreError?
    private let lines: LimitedLines
    var clock = ClockWatch(
        nil, wall: SystemClock.wallSeconds(), running: SystemClock.runningSeconds(),
        now: SystemClock.monotonicMilliseconds())
    /// Of the clock, where nodes share the store.
    var lastJump: WallClock.Jump?

    init(_ own: any BindingStore, shared: (any SharedStore)?, _ context: EngineContext) {
        (self.own, self.shared, self.context) = (own, shared, context)
        lines = LimitedLines(context.log)
    }

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
        guard let shared else { return then(askOwn(work)) }
        shared.ask(
            about: aor, now: SystemClock.wallSeconds(), keepsTrying: keepsTrying, announcing: announcement(), work,
            then: then)
    }

    /// Reads the bindings of the user who was told a PURR.
    func ask<Answer>(
        aboutPURR purr: PURR, _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>) -> Void
    ) {
        guard let shared else { return then(askOwn(work)) }
        shared.ask(aboutPURR: purr, now: SystemClock.wallSeconds(), work, then: then)
    }

    /// How the store is that this engine asks, its own or the one that nodes share.
    var state: StoreState {
        if let shared {
            return StoreState(isUsable: shared.isReady && shared.refusal == nil)
        }
        switch askOwn({ (store) throws(StoreError) in try store.count() }) {
        case .success(let count):
            return StoreState(isUsable: refusal == nil && file?.isInPlace != false, bindings: count)
        case .failure: return StoreState(isUsable: false)
        }
    }

    /// Asks the store of this process: the short way for what comes with each call, which makes no closure that stays.
    func askOwn<Answer>(
        _ work: (any BindingStore) throws(StoreError) -> Answer
    ) -> Result<Answer, StoreError> {
        do throws(StoreError) {
            return .success(try work(own))
        } catch {
            failed(error)
            return .failure(error)
        }
    }

    /// The store of this process has failed; `Registrations.lookAtStore` finds out when that is over.
    func failed(_ failure: StoreError) {
        guard case .corrupt = failure else { return fault = failure }
        // Rows that cannot be read are left out and named: this is of the file, and no write that works would mend it.
        guard damage == nil else { return }
        damage = failure
        context.log(.error, "\(failure)")
    }

    /// A binding could not be stored. A full disk refuses those of thousands of phones.
    func logFailure(_ text: String) {
        // A store that nodes share has said so once.
        guard shared == nil else { return context.log(.debug, text) }
        lines(.error, text)
    }

    /// Why nothing can be stored now; nil while it can.
    var refusal: StoreError? {
        guard let shared else { return damage ?? fault }
        return shared.refusal
    }
}

/// Requests within a dialog name the device that they are for by its PURR (RFC 8599, 6).
extension StoreAccess {
    /// The device that was told a PURR.
    struct DialogDevice: Equatable {
        /// Under which its user is registered, and its requests are held.
        let aor: String
        /// `+sip.instance` without quotes; empty when the device sent none.
        let instance: String
        /// Its own, oldest REGISTER first; never empty.
        let bindings: [Binding]
    }

    /// The device that a request's `pn-purr` names. Nil when it names none: the text is not a PURR, was altered or guessed, is
    /// too old, its device has gone, or `purr` is off.
    func device(ofPURR text: String) throws(StoreError) -> DialogDevice? { try device(ofPURR: text, in: own) }

    func device(ofPURR text: String, in store: any BindingStore) throws(StoreError) -> DialogDevice? {
        guard context.settings.flag(.purr), let purr = PURR(text) else { return nil }
        let bindings = try store.bindings(ofPURR: purr, now: SystemClock.wallSeconds())
        guard let newest = bindings.last else { return nil }
        let instance = bindings.lazy.map(\.instance).first { !$0.isEmpty } ?? ""
        return DialogDevice(aor: newest.aor, instance: instance, bindings: bindings)
    }
}

/// Whether bindings can be read and written and last, and how much there is.
struct StoreState {
    let isUsable: Bool
    /// Nil where nobody counts them: those that nodes share, and those that cannot be read.
    var bindings: Int?
}
