// SPDX-License-Identifier: MIT

private import CLinux

/// A program started by exec, with a stream to its standard input and a pipe from its standard error.
///
/// The stream is a pair of sockets: what is written to a child that has died is an error, and no signal.
/// The child inherits no other descriptor and no signal setting: a PBX has sockets and handlers
/// that are none of its business.
public final class ChildProcess {
    /// Why a program could not be started.
    public struct Failure: Error, Equatable, Sendable {
        public let message: String
    }

    /// Process id; kept from reuse until the end has been noticed.
    public let pid: Int32
    /// Readable when the child has ended; -1 where the kernel has no such thing.
    public let exitDescriptor: Int32
    /// Its standard error, for reading without blocking.
    public let errorDescriptor: Int32
    /// Its standard input, to be polled for writing while `hasUnwritten`; -1 when that has ended.
    public private(set) var inputDescriptor: Int32
    private var unwritten: [UInt8] = []
    private var partialLine: [UInt8] = []
    private var hasEnded = false

    private init(pid: Int32, input: Int32, error: Int32) {
        self.pid = pid
        inputDescriptor = input
        errorDescriptor = error
        exitDescriptor = clinux_pidfd_open(pid)
    }

    deinit {
        closeInput()
        if exitDescriptor >= 0 { _ = close(exitDescriptor) }
        _ = close(errorDescriptor)
    }

    /// Starts a program; a name without a slash is looked for beside this library, then in PATH. With `takesOutput` its
    /// standard output comes by the pipe as well.
    public static func start(
        _ program: String, arguments: [String], takesOutput: Bool = false
    ) throws(Failure) -> ChildProcess {
        guard let path = find(program) else {
            let place =
                program.utf8.contains(UInt8(ascii: "/"))
                ? "it is not a program that can be run" : "there is none beside this library and none in PATH"
            throw Failure(message: "cannot start \(program): \(place); set engine_path")
        }
        guard let input = makeStream() else { throw Failure(message: "no descriptors left for \(program)") }
        guard let output = makePipe() else {
            _ = (close(input.read), close(input.write))
            throw Failure(message: "no descriptors left for \(program)")
        }
        var pid: pid_t = 0
        let code = spawn(
            &pid, path, [program] + arguments, input: input.read, error: output.write, takesOutput: takesOutput)
        _ = (close(input.read), close(output.write))
        guard code == 0 else {
            _ = (close(input.write), close(output.read))
            throw Failure(message: "cannot start \(program): \(String(cString: strerror(code))); set engine_path")
        }
        clinux_set_nonblocking(output.read)
        return ChildProcess(pid: pid, input: input.write, error: output.read)
    }

    /// Leaves behind what exec lets a child inherit: descriptors (C libraries before glibc 2.34 cannot close them on the
    /// way), the priority of a PBX, real-time or not, and its umask. For the child to call before it has threads and files.
    public static func leaveInheritance() {
        clinux_close_from(3)
        clinux_ordinary_priority()
        _ = umask(0o027)
    }

    /// Writes to the child's standard input without waiting; what it does not take yet is kept for `writeOn()`.
    public func write(_ text: String) {
        unwritten += text.utf8
        writeOn()
    }

    /// The child has not taken all of what was written.
    public var hasUnwritten: Bool { !unwritten.isEmpty }

    /// Writes more of what was kept, as much as the child takes now.
    public func writeOn() {
        var done = 0
        while done < unwritten.count {
            let count = unwritten[done...].withUnsafeBytes { clinux_send(inputDescriptor, $0.baseAddress, $0.count) }
            if count < 0 && clinux_errno() == EINTR { continue }
            // Whatever else is wrong: nobody reads it any more.
            if count < 0 && clinux_errno() != EAGAIN { done = unwritten.count }
            guard count > 0 else { break }
            done += count
        }
        unwritten.removeFirst(done)
    }

    /// Ends the child's standard input, which asks it to end.
    public func closeInput() {
        guard inputDescriptor >= 0 else { return }
        _ = close(inputDescriptor)
        inputDescriptor = -1
        unwritten = []
    }

    /// Whole lines that the child has written to standard error since the last call.
    public func takeLines() -> [String] {
        var lines: [String] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = chunk.withUnsafeMutableBytes { read(errorDescriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { break }
            for byte in chunk[..<count] {
                if byte != 0x0A && partialLine.count < 8192 {
                    partialLine.append(byte)
                } else {
                    lines.append(String(decoding: partialLine, as: UTF8.self))
                    partialLine.removeAll(keepingCapacity: true)
                }
            }
        }
        return lines
    }

    /// Waits until the child has written something or ended, or the time is over.
    public func awaitLines(milliseconds: Int32) {
        var waited = pollfd(fd: errorDescriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&waited, 1, milliseconds)
        // At the end of the pipe there is nothing more to wait for but the end of the process.
        if waited.revents & Int16(POLLIN) == 0, waited.revents != 0 { _ = usleep(10_000) }
    }

    /// How the child ended (`exit code 1`, `signal 9`); nil while it runs.
    public func takeEnd() -> String? {
        guard !hasEnded else { return nil }
        var status: Int32 = 0
        let result = waitpid(pid, &status, WNOHANG)
        guard result != 0 else { return nil }
        hasEnded = true
        // The host may have collected it already (SIGCHLD ignored): then only the end is known.
        guard result == pid else { return "unknown status" }
        return clinux_exited(status) != 0
            ? "exit code \(clinux_exit_code(status))" : "signal \(clinux_signal(status))"
    }

    /// Ends a child that nobody can ask any more; `takeEnd()` tells when it has ended.
    public func end() {
        guard !hasEnded else { return }
        _ = kill(pid, SIGKILL)
    }

    /// Asks, waits up to `milliseconds`, then kills.
    public func stop(milliseconds: Int64) {
        closeInput()
        guard !hasEnded else { return }
        _ = kill(pid, SIGTERM)
        let deadline = SystemClock.monotonicMilliseconds() + milliseconds
        while SystemClock.monotonicMilliseconds() < deadline {
            if takeEnd() != nil { return }
            _ = usleep(10_000)
        }
        _ = kill(pid, SIGKILL)
        var status: Int32 = 0
        _ = waitpid(pid, &status, 0)
        hasEnded = true
    }

    private static func makeStream() -> (read: Int32, write: Int32)? {
        var ends: [Int32] = [-1, -1]
        guard clinux_stream_pair(&ends) == 0 else { return nil }
        return (ends[0], ends[1])
    }

    private static func makePipe() -> (read: Int32, write: Int32)? {
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { return nil }
        return (ends[0], ends[1])
    }

    /// Where the program of this name is that `start` would run; nil when there is none.
    public static func find(_ program: String) -> String? {
        let place = locate(program)
        if place.utf8.contains(UInt8(ascii: "/")) {
            guard let stamp = FileStamp(place), !stamp.isDirectory, access(place, X_OK) == 0 else { return nil }
            return place
        }
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":").map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }

    /// The file that this code was loaded from: a library or a program; nil when the loader does not tell.
    public static var ownFile: String? { clinux_own_file().map { String(cString: $0) } }

    private static func locate(_ program: String) -> String {
        guard !program.utf8.contains(UInt8(ascii: "/")), let file = ownFile else { return program }
        let directory = file.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/")
        let places = ["\(directory)/\(program)", "\(directory)/../bin/\(program)", "\(directory)/../../bin/\(program)"]
        return places.first { access($0, X_OK) == 0 } ?? program
    }

    private static func spawn(
        _ pid: inout pid_t, _ path: String, _ arguments: [String], input: Int32, error: Int32,
        takesOutput: Bool
    ) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        if takesOutput {
            posix_spawn_file_actions_adddup2(&actions, error, 1)
        } else {
            posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, error, 2)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))

        var pointers = arguments.map { strdup($0) }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        return posix_spawnp(&pid, path, &actions, &attributes, &pointers, clinux_environment())
    }
}
