// SPDX-License-Identifier: MIT

private import CLinux

/// Small questions about descriptors that somebody else opened.
public enum Descriptor {
    /// Reads what is there and throws it away; true when the other end has closed.
    public static func isAtEnd(_ descriptor: Int32) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = chunk.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        return count == 0 || count < 0 && clinux_errno() != EAGAIN && clinux_errno() != EINTR
    }
}

/// Directories that a file of ours needs.
public enum Directory {
    /// Makes the directory of a file, for owner and group only, when it is missing; the parent must exist.
    public static func makeParent(of path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let directory = parts.joined(separator: "/")
        if !directory.isEmpty { _ = mkdir(directory, 0o750) }
    }
}
