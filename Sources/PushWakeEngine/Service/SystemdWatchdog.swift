// SPDX-License-Identifier: MIT

internal import PushWakeSystem

/// Keeps the service manager informed from the engine's own loop: a loop that stands still is not heard, and the
/// manager starts the engine anew.
final class SystemdWatchdog {
    /// Milliseconds until a manager that had no room is told again.
    private static let again: Int64 = 100

    private let notifier: SystemdNotifier
    private let loop: Loop

    init(_ notifier: SystemdNotifier, loop: Loop) {
        self.notifier = notifier
        self.loop = loop
    }

    /// The engine listens.
    func start() {
        announce()
        beat()
    }

    /// The engine ends; pushes may still be under way.
    func stopping() { notifier.tell(.stopping) }

    /// Until it is heard: the manager would kill a service that never is ready.
    private func announce() {
        guard !notifier.tell(.ready) else { return }
        loop.schedule(after: Self.again) { [weak self] in self?.announce() }
    }

    private func beat() {
        guard let watchdog = notifier.watchdog else { return }
        notifier.tell(.alive)
        // A third of the time leaves room for a beat that is late and for one that is lost.
        loop.schedule(after: max(1, watchdog / 3)) { [weak self] in self?.beat() }
    }
}
