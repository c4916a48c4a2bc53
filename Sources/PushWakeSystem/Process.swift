// SPDX-License-Identifier: MIT

internal import CLinux

/// A user of this system, whose rights a process of root's can take.
public struct ProcessUser: Equatable, Sendable {
    public let name: String
    private let id: uid_t
    private let group: gid_t

    /// Nil when there is no such user.
    public init?(named name: String) {
        guard let entry = getpwnam(name) else { return nil }
        self.init(entry.pointee)
    }

    /// Who owns a path; nil when it is not there, or nobody has that number.
    public init?(owning path: String) {
        var status = stat()
        guard clinux_stat(path, &status) == 0, let entry = getpwuid(status.st_uid) else { return nil }
        self.init(entry.pointee)
    }

    /// Who this process is; nil when nobody has its number.
    public static var current: ProcessUser? { getpwuid(geteuid()).map { ProcessUser($0.pointee) } }

    /// Its name, or its number where nobody has that: what `chown` takes.
    public static var currentName: String { current?.name ?? "\(geteuid())" }

    /// Whether this process has the rights of a group. Its user may have come into it since it began.
    static func isIn(group: UInt32) -> Bool {
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return getegid() == group || groups.prefix(Int(max(0, count))).contains(group)
    }

    private init(_ entry: passwd) {
        name = String(cString: entry.pw_name)
        id = entry.pw_uid
        group = entry.pw_gid
    }

    /// Who this process is.
    public var isCurrent: Bool { id == geteuid() }
    /// Nothing is forbidden to this one.
    public var isRoot: Bool { id == 0 }

    /// Makes this process one of the user's, in all of the user's groups, for good.
    public func become() throws(SystemError) {
        guard initgroups(name, group) == 0, setgid(group) == 0, setuid(id) == 0 else {
            throw SystemError.last("become user \(name)")
        }
    }
}

/// Memory that the process has before it needs it: a burst of a thousand calls must not wait for the kernel, which
/// hands out pages one by one and takes longer for each than the engine takes for half a push.
public enum HeapReserve {
    /// What a thousand pushes in flight need, with room to spare.
    static let bytes = 2 << 20

    /// Fills the reserve, and tells the allocator to keep that much when it gives memory back.
    public static func fill() {
        mallopt(M_TOP_PAD, Int32(bytes))
        // Far from the reserve, or every block that is freed above it would be given back by itself.
        mallopt(M_TRIM_THRESHOLD, Int32(2 * bytes))
        // Larger blocks would be mapped apart from the heap, and unmapped with their end.
        let size = 64 << 10
        let blocks = (0..<bytes / size).map { _ in malloc(size) }
        for case let block? in blocks { memset(block, 0, size) }
        for block in blocks { free(block) }
    }

    /// Gives back what is free beyond the reserve.
    package static func returnRest() { malloc_trim(bytes) }
}

/// What this process shows of its memory.
public enum ProcessMemory {
    /// No core file of this process, and nobody but root looks into it.
    public static func forbidCore() { clinux_forbid_core() }

    /// Bytes that are in memory now; 0 when the system does not tell.
    public static func resident() -> Int {
        guard let bytes = try? FileContent.read("/proc/self/statm") else { return 0 }
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ")
        guard words.count > 1, let pages = Int(words[1]) else { return 0 }
        return pages.multipliedReportingOverflow(by: Int(sysconf(Int32(_SC_PAGESIZE)))).partialValue
    }
}

/// What this machine is called.
public enum SystemName {
    /// As `hostname` prints it.
    public static var host: String {
        var text = [CChar](repeating: 0, count: 256)
        guard gethostname(&text, text.count - 1) == 0 else { return "localhost" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// A variable of this process's environment; nil when there is none of this name.
public func environmentVariable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
