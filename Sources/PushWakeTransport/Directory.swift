// SPDX-License-Identifier: MIT

private import CLinux

/// Directories that a file of ours needs.
public enum Directory {
    /// Makes the directory of a file when it is missing; the parent must exist. Only owner and group see what is in it.
    public static func makeParent(of path: String) {
        let directory = parent(of: path)
        // Others may pass, to a file that lets them.
        if !directory.isEmpty { _ = mkdir(directory, 0o751) }
    }

    /// The directory of a file; empty for a name alone.
    public static func parent(of path: String) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    }
}
