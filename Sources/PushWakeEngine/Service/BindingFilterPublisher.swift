// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Keeps the file that tells clients who may have push bindings (`BindingFilterFile`).
///
/// Bits are only ever set. A filter that fills up, or that holds many users who have gone, is left for a new one: it is
/// filled by a walk through the store, a few users at a time, while every binding that is stored meanwhile goes into
/// both; then it takes the name, and the old file is marked dead.
final class BindingFilterPublisher {
    /// A file and the users that were put into it.
    private struct Filling {
        let file: BindingFilterFile
        private(set) var users = 0

        init(_ file: BindingFilterFile) { self.file = file }

        var isFull: Bool { file.filter.capacity.map { users >= $0 } ?? false }

        mutating func insert(_ aor: String) { if file.insert(aor) { users += 1 } }
    }

    /// Users in one step of a walk, half a millisecond of the loop's time.
    private static let usersPerStep = 256
    /// Milliseconds between two steps.
    private static let stepPause: Int64 = 4
    /// Milliseconds after which a file that could not be made is tried again.
    private static let retryPause: Int64 = 60_000
    /// Fewer users who have gone are not worth a walk.
    private static let fewestRemovals = 1024

    private let path: String
    private let store: any BindingStore
    private let share: StoreShare?
    private let loop: Loop
    private let log: EngineLog
    /// Is told when this engine becomes, and before it ceases to be, the only one that writes to the store.
    private let onAlone: (Bool) -> Void
    /// What clients read; nil when they ask the engine about everybody.
    private var current: Filling?
    /// What is being filled.
    private var next: Filling?
    /// Numbers the walks, so that a step of one that was given up does nothing.
    private var walk = 0
    private var removals = 0
    private var retryAt = Int64.min

    /// Users who may not be left out although the store has no bindings of theirs.
    var further: () -> [String] = { [] }

    /// Makes nothing yet. Without a `share` the store is in this process.
    init(
        path: String, store: any BindingStore, share: StoreShare?, loop: Loop, log: EngineLog,
        onAlone: @escaping (Bool) -> Void = { _ in }
    ) {
        self.onAlone = onAlone
        self.path = path
        self.store = store
        self.share = share
        self.loop = loop
        self.log = log
    }

    deinit { withdraw() }

    /// Looks after the file from now on, as long as this object lives.
    func start() {
        look()
        loop.schedule(after: 1000) { [weak self] in self?.start() }
    }

    /// Makes a file, a new one, or takes it away, as it has become necessary.
    func look() {
        if let share, current != nil || next != nil, share.hasOthers {
            log(.notice, "another engine uses this store, so the PBX asks the engine for each call")
            return withdraw()
        }
        guard next == nil, loop.now >= retryAt else { return }
        guard let current else { return begin() }
        let isStale = current.isFull || removals > max(current.users / 2, Self.fewestRemovals)
        if isStale || isTakenAway(current) { begin() }
    }

    /// Who takes away all files of a directory takes this one, too; it can be made anew when the directory is there.
    private func isTakenAway(_ filling: Filling) -> Bool {
        !filling.file.words.isNamed(path) && FileStamp(Directory.parent(of: path)) != nil
    }

    /// A binding of this user is about to be stored, or a request for him to be held.
    func insert(_ aor: String) {
        current?.insert(aor)
        next?.insert(aor)
    }

    /// So many bindings have gone; their users may have others.
    func noteRemovals(_ count: Int) { removals &+= count }

    /// Takes the file away: clients ask about everybody.
    func withdraw() {
        next = nil
        if let current {
            current.file.state = .dead
            if current.file.words.isNamed(path) { SharedWords.unlink(path) }
        }
        current = nil
        // ORDER: others may write to the store when nobody believes the file any more.
        shareAgain()
    }

    private func shareAgain() {
        onAlone(false)
        share?.relyNoMore()
    }

    private func begin() {
        guard share?.rely() ?? true else { return }
        onAlone(true)
        walk += 1
        removals = 0
        do {
            let file = try BindingFilterFile(
                making: newPath, users: try store.count(), seed: UInt64.random(in: 0...UInt64.max))
            next = Filling(file)
            try step(walk, after: "")
        } catch {
            giveUp("\(error)")
        }
    }

    /// Puts the next users into the new filter.
    private func step(_ walk: Int, after cursor: String) throws(StoreError) {
        guard walk == self.walk, next != nil else { return }
        // Those as well whose time is over: the clock of the host may go back.
        let aors = try store.aors(after: cursor, limit: Self.usersPerStep, now: .min)
        for aor in aors { next?.insert(aor) }
        guard aors.count == Self.usersPerStep, let last = aors.last else { return publish() }
        loop.schedule(after: Self.stepPause) { [weak self] in
            guard let self else { return }
            do throws(StoreError) {
                try step(walk, after: last)
            } catch {
                giveUp("\(error)")
            }
        }
    }

    private func publish() {
        guard var next else { return }
        for aor in further() { next.insert(aor) }
        next.file.state = .inUse
        do throws(SystemError) {
            try SharedWords.rename(newPath, to: path)
        } catch {
            return giveUp("\(error)")
        }
        let old = current
        current = next
        self.next = nil
        // ORDER: when the new one bears the name, so that whoever leaves the old one finds it.
        old?.file.state = .dead
        log(.debug, "\(next.users) users with bindings are known from \(path), of \(next.file.words.count * 8) bytes")
    }

    /// Clients ask the engine about everybody, or go on with the file they have.
    private func giveUp(_ reason: String) {
        next = nil
        SharedWords.unlink(newPath)
        retryAt = loop.now + Self.retryPause
        if current == nil { shareAgain() }
        log(.warning, "users without bindings are not known to the PBX, which asks about each: \(reason)")
    }

    private var newPath: String { path + ".new" }
}
