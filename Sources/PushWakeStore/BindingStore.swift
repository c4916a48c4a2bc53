// SPDX-License-Identifier: MIT

public import PushWakeCore

/// Where bindings live. When a call returns, what it stored survives the death of this process.
///
/// All stores pass the same contract suite. Time is a parameter, seconds since 1970. AoRs and tokens
/// are compared byte by byte. One user has at most as many bindings as the store was told: one more takes
/// the place of the oldest.
public protocol BindingStore: AnyObject {
    /// Bindings of one user that are neither removed nor forgotten at `now`, oldest REGISTER first.
    func bindings(of aor: String, now: Int64) throws(StoreError) -> [Binding]

    /// Stores what one device registered, all of one AoR and contact, in place of what that device had before.
    ///
    /// The same device is: the same instance; or any equal provider, app and token, whatever the instance;
    /// or, when either side has no instance, the same contact (push parameters aside) or the same Call-ID.
    /// Another contact of the very same REGISTER (Call-ID and CSeq) is replaced only by an equal token.
    /// A REGISTER that was overtaken by a later one (same Call-ID, higher CSeq, not expired at `now`)
    /// changes nothing (RFC 3261, 10.3). Marks of removal of this device go.
    ///
    /// Returns the contacts of replaced bindings that differ from the new one and that no remaining
    /// binding of the user has.
    func register(_ bindings: [Binding], now: Int64) throws(StoreError) -> [String]

    /// Removes bindings and remembers why; returns those removed.
    func remove(_ selector: BindingSelector, of aor: String, reason: String, now: Int64) throws(StoreError) -> [Binding]

    /// Notes that registrations are over at `now` while their bindings stay.
    func endRegistrations(_ selector: BindingSelector, of aor: String, now: Int64) throws(StoreError)

    /// Removed bindings of one user, newest first.
    func removed(of aor: String) throws(StoreError) -> [RemovedBinding]

    /// Drops bindings whose time is over and marks of removal that are old, at most `limit` of both together;
    /// returns how many. Call again while it returns `limit`.
    func forget(now: Int64, limit: Int) throws(StoreError) -> Int

    /// The wall clock was put right, from `old` to `new` at one moment: bindings stay valid for as long as they were, as if
    /// the clock had been right when they were registered.
    func clockJumped(from old: Int64, to new: Int64) throws(StoreError)

    /// Bindings whose registration ends after a place and by `end`, in the order of the ends, at most `limit`: of phones
    /// that refresh by themselves, or of the others. The last one's place finds the next ones.
    func ending(
        after place: EndPlace, by end: Int64, refreshingThemselves: Bool, limit: Int
    ) throws(StoreError) -> [EndingBinding]

    /// AoRs with live bindings after `cursor` in the order of their bytes, at most `limit`: for listing
    /// without loading everything. Start with "".
    func aors(after cursor: String, limit: Int, now: Int64) throws(StoreError) -> [String]

    /// The PURR that the device of a binding is told now (RFC 8599, 6.2.1): the one it was told last, or `fresh` when there
    /// is none or it is old. Earlier ones stay good, `PURRLimits.perDevice` of one device at most. Writes when it takes
    /// `fresh`, and once a day to note the use. Nil when the binding is not stored.
    ///
    /// The PURRs of a device follow it when a REGISTER replaces its bindings, and go with the last of them.
    func purr(of binding: Binding, now: Int64, fresh: () -> PURR) throws(StoreError) -> PURR?

    /// Bindings of the device that was told a PURR, oldest REGISTER first; none when no device was, or too long ago.
    /// Notes the use, once a day.
    func bindings(ofPURR purr: PURR, now: Int64) throws(StoreError) -> [Binding]

    /// Number of bindings that are neither removed nor dropped by `forget`.
    func count() throws(StoreError) -> Int
}
