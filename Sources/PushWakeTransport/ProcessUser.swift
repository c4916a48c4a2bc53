// SPDX-License-Identifier: MIT

private import CLinux

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
