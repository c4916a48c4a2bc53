// SPDX-License-Identifier: MIT

internal import PushWakeTransport

/// Knows users without push bindings from a file of the engine, without asking it.
///
/// It never waits. Whatever is wrong with the file means "may have bindings": the engine is asked, as it was before
/// there was a file.
final class BindingFilterReader {
    /// Milliseconds after which the name is looked at again: for a file that was not there, and for one that somebody
    /// has removed, which no engine can mark any more.
    static let lookAgain: Int64 = 100

    private let path: String
    private var file: BindingFilterFile?
    private var nextLook = Int64.min

    /// Opens nothing yet.
    init(path: String) { self.path = path }

    /// Whether a user may have push bindings at `now` (monotonic milliseconds).
    func mayHold(_ aor: Span<UInt8>, now: Int64) -> Bool {
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
