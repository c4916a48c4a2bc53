// SPDX-License-Identifier: MIT

import Glibc

/// A file system of a few hundred kilobytes of its own, where the tests may mount one (root, no container).
final class SmallDisk {
    let path: String

    /// This process may mount.
    static let isAvailable = SmallDisk(kibibytes: 16) != nil

    /// Nil when this process may not mount.
    init?(kibibytes: Int) {
        guard let directory = try? makeTemporaryDirectory() else { return nil }
        guard mount("tmpfs", directory, "tmpfs", 0, "size=\(kibibytes)k") == 0 else {
            rmdir(directory)
            return nil
        }
        path = directory
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
        rmdir(path)
    }

    /// Gives it another size.
    func resize(kibibytes: Int) -> Bool { mount("", path, "", UInt(MS_REMOUNT), "size=\(kibibytes)k") == 0 }

    /// Lets nobody write any more.
    func makeReadOnly() -> Bool { mount("", path, "", UInt(MS_REMOUNT | MS_RDONLY), "") == 0 }
}
