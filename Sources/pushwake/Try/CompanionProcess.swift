// SPDX-License-Identifier: MIT

import Glibc
import PushWakeSystem

/// A program that runs beside this one, with its output in a file; it ends with this object.
final class CompanionProcess {
    private var pid = pid_t()

    /// Looks for the program in PATH; nil when it cannot be run. Without `log` it writes where this one does.
    init?(_ program: String, _ words: [String], log: String? = nil) {
        var arguments: [UnsafeMutablePointer<CChar>?] = ([program] + words).map { (word: String) in strdup(word) }
        defer { for argument in arguments { free(argument) } }
        arguments.append(nil)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let log {
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
            posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
            posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        }
        guard posix_spawnp(&pid, program, &actions, nil, arguments, environ) == 0 else { return nil }
    }

    deinit { end() }

    /// Its exit code once it has ended; nil while it runs. A program that a signal has ended has 1.
    func exitCode() -> Int32? {
        guard pid > 0 else { return ended }
        var status: Int32 = 0
        guard waitpid(pid, &status, WNOHANG) == pid else { return nil }
        pid = 0
        ended = status & 0x7F == 0 ? (status >> 8) & 0xFF : 1
        return ended
    }

    private var ended: Int32 = 1

    /// Ends it, and waits for that up to five seconds.
    func end() {
        guard pid > 0 else { return }
        kill(pid, SIGTERM)
        for _ in 0..<250 where exitCode() == nil { SystemClock.wait(milliseconds: 20) }
        guard pid > 0 else { return }
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
        pid = 0
    }
}
