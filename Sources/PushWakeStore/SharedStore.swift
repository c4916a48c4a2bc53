// SPDX-License-Identifier: MIT

public import PushWakeCore

/// A store that several nodes share: it is asked about one user, and answers later.
///
/// `work` is given that user's bindings as a `BindingStore` and may read and change them; what it changed is kept, all of
/// it or nothing. It runs again when another node changed the user meanwhile, so it must do nothing but ask that store.
/// `then` runs exactly once, on the loop, when what was changed is acknowledged.
///
/// Questions about one user are answered in their order; none waits for another user's. Their number and their time are
/// bounded: a store that is away answers `StoreError.unusable` at once.
public protocol SharedStore: AnyObject {
    /// Reads or changes a user.
    ///
    /// `announcement` is sent to all other nodes that hold requests for the user, once the change is kept; it is put together
    /// when there are any. A change that
    /// cannot be kept now is kept later, when `keepsTrying`: `then` hears of the failure, and what came later from the same
    /// device stays.
    func ask<Answer>(
        about aor: String, now: Int64, keepsTrying: Bool,
        announcing announcement: @autoclosure @escaping () -> [UInt8]?,
        _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>) -> Void)

    /// Reads a user for a request that this node may hold for so many `seconds`: from now on, for at least as long, it hears
    /// what other nodes announce, unless the answer says otherwise. `claim` says
    /// which request it is, on whatever node. A node that does push says so
    /// (`confirmClaim`); the others ask once more when it has had the time to (`claimAnew`).
    func hold<Answer>(
        for aor: String, claim: String, seconds: Int64, now: Int64,
        _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>, HoldState) -> Void)

    /// Reads a user once more for requests that this node holds for so many `seconds` from now, and sees to it anew that it
    /// hears what other nodes announce: a server may have forgotten that. `isKnown`: they know of it.
    func holdAgain<Answer>(
        for aor: String, seconds: Int64, now: Int64,
        _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>, _ isKnown: Bool) -> Void)

    /// This node pushes for a request that `hold` said nobody else pushes for.
    func confirmClaim(_ claim: String, of aor: String)

    /// Whether another node does push for a request that `hold` said one may push for; if not, this one does from now on.
    /// Also when nobody can be asked: two pushes are better than none.
    func claimAnew(_ claim: String, of aor: String, then: @escaping (_ isClaimed: Bool) -> Void)

    /// Milliseconds after `hold` until which a node has confirmed that it pushes, or does not push.
    var claimPause: Int64 { get }

    /// The same as `ask`, about the user who was told a PURR; nobody's bindings when none was.
    func ask<Answer>(
        aboutPURR purr: PURR, now: Int64, _ work: @escaping (any BindingStore) throws(StoreError) -> Answer,
        then: @escaping (Result<Answer, StoreError>) -> Void)

    /// Notes whose the token of a binding is now; `then` hears whose it was, nil when nobody else's or nobody knows. Of several
    /// who share it the last one is known.
    func noteUser(of binding: Binding, then: @escaping (_ other: String?) -> Void)

    /// Who registered the token of a binding last; nil when that is its own user, or nobody knows.
    func user(ofTokenOf binding: Binding, then: @escaping (_ other: String?) -> Void)

    /// Some users with bindings whose names begin so, and where to go on; nil when these were the last. A `cursor` that none
    /// of its answers had is the beginning. A user may come twice.
    func users(
        after cursor: String, beginning: String, limit: Int,
        then: @escaping (Result<(aors: [String], next: String?), StoreError>) -> Void)

    /// The nodes that share it, those that were there within the last seconds.
    func nodes(then: @escaping (Result<[SharedNode], StoreError>) -> Void)

    /// What this node is called or where it is, as far as another node says the same of itself.
    var sharedNames: [String] { get }

    /// What another node announced.
    var onAnnouncement: ([UInt8]) -> Void { get set }
    /// Announcements may have been missed, or the server may have forgotten who holds requests.
    var onGap: () -> Void { get set }
    /// REGISTERs that are kept later, as they stand now.
    var backlog: Int { get }
    /// It can be asked now; for up to two seconds true of one that has fallen silent.
    var isReady: Bool { get }
    /// Why it takes no changes, as far as it says so; nil while it does.
    var refusal: StoreError? { get }
}

/// How a request stands that a node may hold.
public struct HoldState: Equatable, Sendable {
    /// Another node may push for it.
    public var isClaimed: Bool
    /// Other nodes announce phones that register there. Not where the server can be read and takes no writes.
    public var isKnown: Bool

    public init(isClaimed: Bool = false, isKnown: Bool = true) {
        self.isClaimed = isClaimed
        self.isKnown = isKnown
    }
}

/// A node that shares a store.
public struct SharedNode: Equatable, Sendable {
    public let name: String
    public let version: String
    /// Seconds since 1970.
    public let startedAt: Int64

    public init(name: String, version: String, startedAt: Int64) {
        self.name = name
        self.version = version
        self.startedAt = startedAt
    }
}

extension SharedStore {
    /// Reads or changes all users, some at a time; `then` runs after the last, or with the first failure.
    public func forEachUser(
        now: Int64, _ work: @escaping (_ aor: String, any BindingStore) throws(StoreError) -> Void,
        then: @escaping (StoreError?) -> Void
    ) {
        step(after: "", now: now, work, then)
    }

    private func step(
        after cursor: String, now: Int64,
        _ work: @escaping (_ aor: String, any BindingStore) throws(StoreError) -> Void,
        _ then: @escaping (StoreError?) -> Void
    ) {
        users(after: cursor, beginning: "", limit: 200) { [weak self] result in
            switch result {
            case .failure(let error): then(error)
            case .success((let aors, let next)):
                var left = aors.count
                var failure: StoreError?
                let goOn: () -> Void = {
                    if let failure { return then(failure) }
                    guard let next, let self else { return then(nil) }
                    self.step(after: next, now: now, work, then)
                }
                guard left > 0 else { return goOn() }
                for aor in aors {
                    self?.ask(about: aor, now: now, keepsTrying: false, announcing: nil) {
                        (store) throws(StoreError) in
                        try work(aor, store)
                    } then: { result in
                        if case .failure(let error) = result { failure = error }
                        left -= 1
                        if left == 0 { goOn() }
                    }
                }
            }
        }
    }
}
