// SPDX-License-Identifier: MIT

package import PushWakeCore
package import PushWakeSystem

/// The file beside the engine's socket that says who may have push bindings: one engine writes it, all clients read it.
///
///     word 0  "PWFILTR" and the version, in the host's order of bytes
///     word 1  state: 1 being made, 2 in use, 3 dead
///     word 2  seed of the filter, another one for each file
///     word 3  words of the filter
///     word 8  the filter
///
/// The rules are in docs/architecture/sip-worker.md. What is in the file may be anything: a
/// file that does not fit is not a file, and no index leaves it.
package struct BindingFilterFile {
    /// Where a file is in its life.
    package enum State: UInt64 {
        case making = 1
        case inUse = 2
        /// Says nothing any more: another file is in its place, or its engine has ended.
        case dead = 3
    }

    package static let magic: UInt64 = 0x5057_4649_4C54_5201
    private static let headerWords = 8
    private static let stateWord = 1

    package let words: SharedWords
    package let filter: BindingFilter

    /// Where the file of an engine is.
    package static func path(besides socket: String) -> String { socket + ".users" }

    /// Makes an empty file that nobody is to believe yet.
    package init(making path: String, users: Int, seed: UInt64) throws(SystemError) {
        filter = BindingFilter(users: users, seed: seed)
        words = try SharedWords.create(path, count: Self.headerWords + filter.wordCount)
        words.storeReleasing(0, Self.magic)
        words.storeReleasing(2, seed)
        words.storeReleasing(3, UInt64(filter.wordCount))
        state = .making
    }

    /// Takes a file that is there; nil when it is of another version or cannot be used.
    package init?(_ words: SharedWords) {
        guard words.load(0) == Self.magic, let seed = words.load(2),
            let count = words.load(3).flatMap(Int.init(exactly:)), count == words.count - Self.headerWords,
            let filter = BindingFilter(wordCount: count, seed: seed)
        else { return nil }
        self.words = words
        self.filter = filter
    }

    /// Nil for what is none.
    package var state: State? {
        get { words.loadAcquiring(Self.stateWord).flatMap(State.init(rawValue:)) }
        nonmutating set { if let newValue { words.storeReleasing(Self.stateWord, newValue.rawValue) } }
    }

    /// Puts a user in; true when bits were new.
    @discardableResult
    package func insert(_ aor: String) -> Bool {
        let probe = filter.probe(for: aor)
        guard let before = words.set(Self.headerWords + probe.word, probe.mask) else { return false }
        return before & probe.mask != probe.mask
    }

    /// Whether a user may be in. A file that is not in use knows nothing: true.
    package func mayContain(_ aor: Span<UInt8>) -> Bool {
        guard state == .inUse else { return true }
        let probe = filter.probe(for: aor)
        guard let word = words.load(Self.headerWords + probe.word) else { return true }
        return word & probe.mask == probe.mask
    }

    /// Marks what bears the name as dead: who has it mapped believes it no more. False when there is something that
    /// cannot be marked.
    package static func kill(_ path: String) -> Bool {
        guard let words = SharedWords.open(path, writable: true) else { return FileStamp(path) == nil }
        // The state has the same place in all versions.
        guard let magic = words.load(0), magic >> 8 == Self.magic >> 8 else { return false }
        words.storeReleasing(stateWord, State.dead.rawValue)
        return true
    }
}

/// Knows users without push bindings from a file of the engine, without asking it.
///
/// It never waits. Whatever is wrong with the file means "may have bindings": the engine is asked, as it was before
/// there was a file.
package final class BindingFilterReader {
    /// Milliseconds after which the name is looked at again: for a file that was not there, and for one that somebody
    /// has removed, which no engine can mark any more.
    package static let lookAgain: Int64 = 100

    private let path: String
    private var file: BindingFilterFile?
    private var nextLook = Int64.min

    /// Opens nothing yet.
    package init(path: String) { self.path = path }

    /// Whether a user may have push bindings at `now` (monotonic milliseconds).
    package func mayHold(_ aor: Span<UInt8>, now: Int64) -> Bool {
        if now >= nextLook || file.map({ $0.state != .inUse }) == true { look(now) }
        // Nobody looks for a user without a name, so it is not worth a bit.
        guard let file, !aor.isEmpty else { return true }
        return file.mayContain(aor)
    }

    private func look(_ now: Int64) {
        nextLook = now &+ Self.lookAgain
        if let file, file.state == .inUse, file.words.isNamed(path) { return }
        file = SharedWords.open(path).flatMap { BindingFilterFile($0) }
        if file?.state != .inUse { file = nil }
    }
}
