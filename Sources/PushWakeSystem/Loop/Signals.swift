// SPDX-License-Identifier: MIT

private import CLinux

/// Signals as a descriptor, so that they arrive between two turns of the loop and never inside one.
public final class Signals: LoopSource {
    private let descriptor: Int32
    private let handler: (Int32) -> Void

    /// A write to a closed connection, or past the size that a file may have, fails, and does not end this process.
    public static func ignoreFailedWrites() { clinux_ignore_write_signals() }

    /// Takes over the termination signals of this process; SIGUSR1 and SIGUSR2 do nothing.
    public init(handler: @escaping (Int32) -> Void) {
        self.handler = handler
        Self.ignoreFailedWrites()
        clinux_take_sighup()
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, number) }
        var blocked = set
        // Kamailio's statistics signal and others that a whole group of processes may be sent: nobody reads them here.
        for number in [SIGUSR1, SIGUSR2] { sigaddset(&blocked, number) }
        sigprocmask(SIG_BLOCK, &blocked, nil)
        descriptor = signalfd(-1, &set, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
    }

    deinit { if descriptor >= 0 { _ = close(descriptor) } }

    /// SIGHUP ends this process, even when the one that started it ignores or blocks that signal. So does the end of that one.
    public static func endOnHangUp() {
        clinux_take_sighup()
        clinux_hang_up_with_parent()
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGHUP)
        sigprocmask(SIG_UNBLOCK, &set, nil)
    }

    /// Begins to listen on a loop.
    public func attach(to loop: Loop) throws(SystemError) { try loop.watch(descriptor, for: .readable, self) }

    public func ready(_ readiness: Loop.Readiness) {
        var info = signalfd_siginfo()
        while read(descriptor, &info, MemoryLayout<signalfd_siginfo>.size) == MemoryLayout<signalfd_siginfo>.size {
            handler(Int32(bitPattern: info.ssi_signo))
        }
    }
}
