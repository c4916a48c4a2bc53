// SPDX-License-Identifier: MIT

private import CLinux

/// Directories that a file of ours needs.
public enum Directory {
    /// Makes the directory of a file, for owner and group only, when it is missing; the parent must exist.
    public static func makeParent(of path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let directory = parts.joined(separator: "/")
        if !directory.isEmpty { _ = mkdir(directory, 0o750) }
    }
}
