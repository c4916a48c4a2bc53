// SPDX-License-Identifier: MIT

public import PushWakeCore

/// Why a store could not do what it was asked. Nothing was changed then.
public enum StoreError: Error, Equatable, Sendable {
    /// The file or server cannot be used; the text says why and what to do.
    case unusable(String)
    case full(String)
    case corrupt(String)
}

/// Which bindings of a user are meant.
public enum BindingSelector: Equatable, Sendable {
    case all
    /// Exactly this token.
    case token(provider: Provider, app: String, token: String)
    /// All tokens of one device: the same instance; without one the same contact
    /// (push parameters aside) or the same Call-ID.
    case device(instance: String, contact: String, callID: String)
}

/// A binding that is gone, kept visible until the phone registers again.
public struct RemovedBinding: Equatable, Sendable {
    public var binding: Binding
    /// `unregistered`, `token-gone BadDeviceToken`, `by hand`, ...
    public var reason: String
    /// Seconds since 1970.
    public var removedAt: Int64

    public init(binding: Binding, reason: String, removedAt: Int64) {
        self.binding = binding
        self.reason = reason
        self.removedAt = removedAt
    }
}

/// Where bindings live. When a call returns, what it stored survives the death of this process.
///
/// All stores pass the same contract suite. Time is a parameter, seconds since 1970.
public protocol BindingStore: AnyObject {
    /// Bindings of one user that are neither removed nor forgotten at `now`, oldest first.
    func bindings(of aor: String, now: Int64) throws(StoreError) -> [Binding]

    /// Stores what one device registered, all of one AoR and contact, in place of what that device
    /// had before: same instance; same provider, app and token; or, when neither side has an
    /// instance, the same Call-ID. Returns the contacts of replaced bindings that differ from
    /// the new one and that no remaining binding of the user has.
    func register(_ bindings: [Binding], now: Int64) throws(StoreError) -> [String]

    /// Removes bindings and remembers why; returns those removed.
    func remove(_ selector: BindingSelector, of aor: String, reason: String, now: Int64) throws(StoreError) -> [Binding]

    /// Removed bindings of one user, newest first.
    func removed(of aor: String) throws(StoreError) -> [RemovedBinding]

    /// Drops bindings whose time is over, and marks of removal older than `persist` days; at most `limit` rows a call.
    func forget(now: Int64, limit: Int) throws(StoreError) -> Int

    /// AoRs after `cursor` in order, at most `limit`: for listing without loading everything.
    func aors(after cursor: String, limit: Int, now: Int64) throws(StoreError) -> [String]

    /// Number of live bindings.
    func count() throws(StoreError) -> Int
}
