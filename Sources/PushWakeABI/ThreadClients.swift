// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeSystem

/// A client for each thread of a process, behind one `pushwake_client *`: results and errors are the thread's own, the
/// connections all threads' (`EngineLinks`).
final class ThreadClients {
    /// One place for all shared clients: a process has few keys.
    private static let slot = ThreadSlot<ThreadHandles>()

    private let lock = Lock()
    private var template: ClientHandle
    private var links = EngineLinks()
    private var generation = 0
    private var warning = EngineWarning()

    /// Nil when the process has no room for it.
    init?(_ template: ClientHandle) {
        guard Self.slot != nil else { return nil }
        self.template = template
    }

    /// Threads keep what they have made until they ask again or end; the connections go now.
    deinit { links.close() }

    /// Takes other settings; a thread learns of them with its next call.
    func replace(with template: ClientHandle) {
        lock.lock()
        let earlier = links
        self.template = template
        links = EngineLinks()
        generation += 1
        lock.unlock()
        earlier.close()
    }

    /// That of this thread; nil when memory is short. `hasResults`: for a call that has results.
    func mine(hasResults: Bool) -> ClientHandle? {
        guard let all = handles() else { return nil }
        lock.lock()
        let (template, links, generation) = (template, links, generation)
        lock.unlock()
        if hasResults { all.forgetEarlier(of: self, generation) }
        return all.handle(of: self, generation) { ClientHandle(template, links: links) }
    }

    /// As `EngineWarning.line`, for all threads together.
    func warn(_ text: String, now: Int64) -> String? {
        lock.lock()
        defer { lock.unlock() }
        return warning.line(text, now: now)
    }

    private func handles() -> ThreadHandles? {
        guard let slot = Self.slot else { return nil }
        if let kept = slot.value { return kept }
        let new = ThreadHandles()
        return slot.keep(new) ? new : nil
    }
}

/// What one thread has of the clients that it shares with others; goes with the thread.
private final class ThreadHandles {
    private struct Entry {
        weak var owner: ThreadClients?
        let generation: Int
        let handle: ClientHandle
    }

    private var entries: [Entry] = []

    /// The one that was made before for this generation, or a new one.
    func handle(of owner: ThreadClients, _ generation: Int, make: () -> ClientHandle) -> ClientHandle {
        for entry in entries where entry.owner === owner && entry.generation == generation { return entry.handle }
        let handle = make()
        entries.append(Entry(owner: owner, generation: generation, handle: handle))
        return handle
    }

    /// The thread asks anew: it reads no longer what those lent it that had earlier settings.
    func forgetEarlier(of owner: ThreadClients, _ generation: Int) {
        guard entries.contains(where: { $0.owner !== owner || $0.generation != generation }) else { return }
        entries.removeAll { $0.owner == nil || $0.owner === owner && $0.generation != generation }
    }
}

/// What this thread asks with; nil for NULL. What earlier calls have lent it ends.
func asking(_ client: OpaquePointer?) -> ClientHandle? { mine(client, hasResults: true) }

/// What this thread reports with, which has no answer: what earlier calls have lent it stays, though other settings came.
func reporting(_ client: OpaquePointer?) -> ClientHandle? { mine(client, hasResults: false) }

private func mine(_ client: OpaquePointer?, hasResults: Bool) -> ClientHandle? {
    guard let handle = borrow(client, as: ClientHandle.self) else { return nil }
    guard let threads = handle.threads else { return handle }
    return threads.mine(hasResults: hasResults)
}
