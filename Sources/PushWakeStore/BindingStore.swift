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
    /// A REGISTER that was overtaken by a later one (same Call-ID, higher CSeq, not expired at `now`, stored within
    /// `BindingLimits.overtaking`) changes nothing (RFC 3261, 10.3). Tombstones of this device go.
    ///
    /// Nil for a REGISTER that was overtaken.
    func keep(_ bindings: [Binding], now: Int64) throws(StoreError) -> KeptRegistration?

    /// Other users who may have the token of each binding, a few at most; each is to be looked at. Slow where the store was
    /// not told that it will be asked. A store that nodes share knows of one user alone here (`SharedStore.noteUser`).
    func users(withTokensOf bindings: [Binding]) throws(StoreError) -> [[String]]

    /// Removes bindings and remembers why; returns those removed.
    func remove(_ selector: BindingSelector, of aor: String, reason: String, now: Int64) throws(StoreError) -> [Binding]

    /// Notes that registrations are over at `now` while their bindings stay.
    func endRegistrations(_ selector: BindingSelector, of aor: String, now: Int64) throws(StoreError)

    /// Removed bindings of one user, newest first.
    func removed(of aor: String) throws(StoreError) -> [RemovedBinding]

    /// Brings removed bindings of a user back that are meant, and gives those, the newest first. None comes back whose phone has registered
    /// since, whose time is over, or for which the user has no room.
    func restore(
        of aor: String, now: Int64, where isMeant: (RemovedBinding) -> Bool
    ) throws(StoreError) -> [RemovedBinding]

    /// Of the next users after `cursor`, in the order of their bytes, those from whom a binding was removed at `time` or
    /// later. At most `limit` are looked at; `next` is where to go on, nil after the last. Start with "".
    func users(
        removedSince time: Int64, after cursor: String, limit: Int
    ) throws(StoreError) -> (aors: [String], next: String?)

    /// Notes that a provider took a push for each of these: the first time stays (`Binding.acceptedAt`). A REGISTER of the
    /// same token keeps it.
    func noteAccepted(_ bindings: [Binding], at now: Int64) throws(StoreError)

    /// Drops bindings whose time is over and tombstones that are old, at most `limit` of both together;
    /// returns how many. Call again while it returns `limit`.
    func forget(now: Int64, limit: Int) throws(StoreError) -> Int

    /// The wall clock was put right, from `old` to `new` at one moment: bindings stay valid for as long as they were, as if
    /// the clock had been right when they were registered.
    func clockJumped(from old: Int64, to new: Int64) throws(StoreError)

    /// Bindings whose registration ends after a place and by `end`, in the order of the ends, at most `limit`: of phones
    /// that refresh by themselves, or of the others. Not those that `learnEnds` has yet to read.
    func ending(
        after cursor: ExpiryCursor, by end: Int64, refreshingThemselves: Bool, limit: Int
    ) throws(StoreError) -> EndingPage

    /// Reads when the registrations of some more rows end; true when all are known. Each call takes some milliseconds at most.
    func learnEnds(limit: Int) throws(StoreError) -> Bool

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

    /// Writes what waits, and something in any case, and changes nothing: fails as long as changes do.
    func tryWriting() throws(StoreError)

    /// Writes the changes of `body` with one another, which takes a part of the time that each by itself takes. A store
    /// with a file keeps all of them or, when one fails, none.
    func together<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result
}

extension BindingStore {
    /// Other users who may have the token of one binding.
    public func users(withTokenOf binding: Binding) throws(StoreError) -> [String] {
        try users(withTokensOf: [binding]).first ?? []
    }

    /// What has no file can be written.
    public func tryWriting() throws(StoreError) {}

    /// What has no file writes nothing.
    public func together<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result { try body() }

    /// What is in memory is known.
    public func learnEnds(limit: Int) throws(StoreError) -> Bool { true }

    /// `keep` for those who ask for nothing but the contacts that were left.
    @discardableResult
    public func register(_ bindings: [Binding], now: Int64) throws(StoreError) -> [String]? {
        try keep(bindings, now: now)?.leftContacts
    }

    /// What `restore` would bring back; changes nothing.
    public func restorable(
        of aor: String, now: Int64, where isMeant: (RemovedBinding) -> Bool
    ) throws(StoreError) -> [RemovedBinding] {
        let removed = try removed(of: aor)
        return RestorePlan.tombstones(
            removed, beside: try bindings(of: aor, now: now), perUser: BindingLimits.perUser, now: now, where: isMeant
        ).map { removed[$0] }
    }

    /// What `register` would return, and what of the other address family there is no room for; changes nothing.
    public func contactsLeft(by bindings: [Binding], now: Int64) throws(StoreError) -> [String] {
        guard let aor = bindings.first?.aor else { return [] }
        let plan = RegistrationPlan(
            storing: bindings, over: try self.bindings(of: aor, now: now), tombstones: try removed(of: aor), now: now)
        return plan.leftContacts + plan.otherFamily
    }
}

/// What a registration has changed.
public struct KeptRegistration: Equatable, Sendable {
    /// Contacts of replaced bindings that differ from the new one, that no remaining binding of the user has, and that the
    /// phone does not have beside the new one (another flow or address family).
    public var leftContacts: [String] = []
    /// Contacts that the phone may have beside the new one, of the other address family.
    public var otherFamily: [String] = []
    /// What was stored with a token that the user did not have.
    public var newTokens: [Binding] = []
    /// What was stored with a token that the user had, and a store that nodes share is to be told of again
    /// (`SharedStore.noteUser`). It has no bound on its age otherwise.
    public var dueTokens: [Binding] = []

    public init() {}

    init(_ plan: RegistrationPlan) {
        leftContacts = plan.leftContacts
        otherFamily = plan.otherFamily
        newTokens = plan.newTokens
        dueTokens = plan.dueTokens
    }
}

/// Which bindings of a user are meant.
public enum BindingSelector: Equatable, Sendable {
    case all
    /// Exactly this token.
    case token(provider: Provider, app: String, token: String)
    /// All tokens of one device: the same instance; when either side has none, the same contact
    /// (push parameters aside) or the same Call-ID. Empty texts match nothing.
    case device(instance: String, contact: String, callID: String)
    /// What such a device has at the contact, when it leaves that (push parameters aside); where it has nothing there, all
    /// of the device, unless it is registered elsewhere.
    case address(instance: String, contact: String, callID: String)
    /// All tokens of such a device, which registers this contact without any, apart from what it may have beside it.
    case silent(instance: String, contact: String, callID: String, flowNumber: UInt8)
    /// All tokens of the one device that has no instance; nothing when several such have tokens.
    case nameless
}

/// Bounds that keep one user from filling the store.
public enum BindingLimits {
    /// Bindings of one user that any store has room for; settings allow less.
    public static let perUser = 256
    /// Seconds by which a REGISTER may be behind a later one on its way: 64 * T1, after which nobody repeats it (RFC 3261,
    /// 17.1.2.2). What comes later with a lower CSeq is from a phone that counts anew.
    public static let overtaking: Int64 = 32
    /// Tombstones of one user; the oldest gives way.
    public static let tombstonesPerUser = 32
    /// Users of one token that are looked at when it comes in for another.
    static let usersPerToken = 8
    /// Seconds after which a store that nodes share is told again whose a token is.
    static let tokenNotePeriod: Int64 = 10 * 86_400
    /// Seconds for which a tombstone stays when its phone never registers again: 30 days.
    public static let tombstoneLifetime: Int64 = 30 * 86_400
}

/// For how long PURRs are good, and how many of one device are kept; times in seconds.
enum PURRLimits {
    /// PURRs of one device; the oldest gives way. More than `lifetime` has of `rotation`.
    static let perDevice = 32
    /// A use is noted so often: a write for each would cost more than the lookup.
    static let noteAfter: Int64 = 86_400

    /// Age at which the device is told another one.
    static let rotation: Int64 = 86_400
    /// A PURR stays good for so long after it was told or used last, and for a day more.
    static let lifetime: Int64 = 7 * 86_400

    /// A PURR that was made then is not told any more.
    static func isOld(madeAt: Int64, now: Int64) -> Bool { now.subtractingSaturating(madeAt) >= rotation }

    /// A PURR that was told or used then counts no more.
    static func isOver(usedAt: Int64, now: Int64) -> Bool {
        now.subtractingSaturating(usedAt) > lifetime.addingSaturating(Self.noteAfter)
    }

    /// A use is to be noted.
    static func isDue(usedAt: Int64, now: Int64) -> Bool { now.subtractingSaturating(usedAt) >= noteAfter }
}

extension Int64 {
    /// Subtracts without leaving the range.
    func subtractingSaturating(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }
}

/// A place in the order in which registrations end.
public struct ExpiryCursor: Comparable, Sendable {
    /// Seconds since 1970.
    public let time: Int64
    /// Tells bindings apart that end in the same second; the store's own number.
    public let row: Int64

    /// Makes a place; `.max` for `row` is behind all that ends in that second.
    public init(time: Int64, row: Int64 = .max) {
        self.time = time
        self.row = row
    }

    /// Earlier ends come first.
    public static func < (left: ExpiryCursor, right: ExpiryCursor) -> Bool {
        (left.time, left.row) < (right.time, right.row)
    }
}

/// A binding and its place in the order in which registrations end.
public struct EndingBinding: Equatable, Sendable {
    public let binding: Binding
    public let cursor: ExpiryCursor

    public init(binding: Binding, cursor: ExpiryCursor) {
        self.binding = binding
        self.cursor = cursor
    }
}

/// Registrations that end, as far as a store has looked.
public struct EndingPage: Equatable, Sendable {
    public var found: [EndingBinding] = []
    /// All up to here were looked at: the next page begins behind it.
    public var reached: ExpiryCursor

    public init(found: [EndingBinding] = [], reached: ExpiryCursor) {
        self.found = found
        self.reached = reached
    }
}

/// A binding that is gone, kept visible until the phone registers again.
public struct RemovedBinding: Equatable, Sendable {
    /// What it was.
    public var binding: Binding
    /// `unregistered`, `token-gone BadDeviceToken`, `by hand`, ...
    public var reason: String
    /// Seconds since 1970.
    public var removedAt: Int64

    /// Marks `binding` as removed.
    public init(binding: Binding, reason: String, removedAt: Int64) {
        self.binding = binding
        self.reason = reason
        self.removedAt = removedAt
    }
}

/// Why a store could not do what it was asked. Nothing was changed then.
///
/// The text names the file or server and says what to do about it.
public enum StoreError: Error, Equatable, Sendable {
    /// The file or server cannot be used: missing, not permitted, locked, or of another program.
    case unusable(String)
    /// No room is left where the bindings are kept; reading still works.
    case full(String)
    /// What is kept cannot be understood; it is left as it is.
    case corrupt(String)
}

extension StoreError: CustomStringConvertible {
    /// The text alone: it says what failed and what to do.
    public var description: String {
        switch self {
        case .unusable(let text), .full(let text), .corrupt(let text): text
        }
    }
}
