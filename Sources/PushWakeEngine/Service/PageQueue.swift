// SPDX-License-Identifier: MIT

internal import PushWakeTransport

/// Pages of long listings that somebody waits for: one at a turn of the loop, behind all requests of that turn.
///
/// A page takes a millisecond or so, and however many list at once, a REGISTER waits for one of them at most.
final class PageQueue {
    private let loop: Loop
    private var waiting: [() -> Void] = []

    init(loop: Loop) { self.loop = loop }

    /// Makes a page when its turn comes.
    func add(_ page: @escaping () -> Void) {
        waiting.append(page)
        if waiting.count == 1 { arm() }
    }

    private func arm() { loop.atEndOfTurn { [weak self] in self?.makeOne() } }

    private func makeOne() {
        guard !waiting.isEmpty else { return }
        let page = waiting[0]
        page()
        waiting.removeFirst()
        if !waiting.isEmpty { arm() }
    }
}
