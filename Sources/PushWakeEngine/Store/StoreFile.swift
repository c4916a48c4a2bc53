// SPDX-License-Identifier: MIT

internal import PushWakeSystem

/// The file of a store: who takes it away while the engine has it open leaves an engine that forgets all at its end.
struct StoreFile {
    let path: String
    private let opened: FileStamp
    private var isSaid = false

    /// The file as it is opened; nil when there is none.
    init?(_ path: String) {
        guard let stamp = FileStamp(path) else { return nil }
        self.path = path
        opened = stamp
    }

    /// The path still leads to it.
    var isInPlace: Bool { FileStamp(path)?.isSameFile(as: opened) == true }

    /// Looks whether it does; the path, once, when it does not.
    mutating func foundMissing() -> String? {
        guard !isSaid, !isInPlace else { return nil }
        isSaid = true
        return path
    }
}
