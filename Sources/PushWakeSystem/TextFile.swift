// SPDX-License-Identifier: MIT

private import CLinux

/// Whole files that somebody names on a command line.
public enum TextFile {
    /// Bytes that are read at most: 16 MB.
    public static let longest = 16 * 1024 * 1024

    /// The text of a file, or of standard input for `-`; nil as for `readBytes`.
    public static func read(_ path: String) -> String? { readBytes(path).map { String(decoding: $0, as: UTF8.self) } }

    /// The bytes of a file, or of standard input for `-`; nil when it cannot be read or is longer than 16 MB.
    public static func readBytes(_ path: String) -> [UInt8]? {
        let descriptor = path == "-" ? Descriptor.standardInput : clinux_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return nil }
        defer { if descriptor != Descriptor.standardInput { _ = close(descriptor) } }
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = chunk.withUnsafeMutableBytes { CLinux.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && clinux_errno() == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { return all }
            all.append(contentsOf: chunk[..<count])
            guard all.count <= longest else { return nil }
        }
    }
}
