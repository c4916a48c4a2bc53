// SPDX-License-Identifier: MIT

private import CLinux

/// Keeps those who connect from taking the last descriptors of this process, which providers, files and name servers
/// need: past a part of the limit nobody is let in for a while. Those who are refused wait in the kernel.
public final class AcceptGate {
    /// Milliseconds between two looks while there is no room.
    private static let pause: Int64 = 100
    /// The most that is kept for others; a quarter of a small limit.
    private static let mostKept = 256

    private let descriptor: Int32
    private let loop: Loop
    private let onFull: (_ limit: Int) -> Void

    /// For a listening descriptor that the loop watches. `onFull` runs whenever somebody has to wait.
    public init(_ descriptor: Int32, loop: Loop, onFull: @escaping (_ limit: Int) -> Void) {
        self.descriptor = descriptor
        self.loop = loop
        self.onFull = onFull
    }

    /// Descriptors that this process may have.
    public static var limit: Int {
        var limit = rlimit()
        guard clinux_descriptor_limit(&limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }

    /// Takes as many descriptors as the system allows at all.
    public static func raiseLimit() { clinux_raise_descriptor_limit() }

    /// Whether to take no more for now, after this connection, which is to be closed then, or, when it is -1, after
    /// nobody could be taken. Ask at once: the system's reason does not last.
    public func isShut(after accepted: Int32) -> Bool {
        let code = clinux_errno()
        if accepted < 0 {
            if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) { shut(Self.limit) }
            return true
        }
        // The system gives the lowest one that is free.
        let limit = Self.limit
        guard Int(accepted) >= limit - min(limit / 4, Self.mostKept) else { return false }
        shut(limit)
        return true
    }

    private func shut(_ limit: Int) {
        loop.rewatch(descriptor, for: [])
        loop.schedule(after: Self.pause) { [weak self] in
            guard let self else { return }
            loop.rewatch(descriptor, for: .readable)
        }
        onFull(limit)
    }
}
