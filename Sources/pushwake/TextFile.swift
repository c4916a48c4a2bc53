// SPDX-License-Identifier: MIT

import Glibc

/// Whole files, for the shell.
enum TextFile {
    static let longest = 16 * 1024 * 1024

    static func read(_ path: String) -> String? { readBytes(path).map { String(decoding: $0, as: UTF8.self) } }

    /// The bytes of a file, or of standard input for `-`; nil when it cannot be read or is longer than 16 MB.
    static func readBytes(_ path: String) -> [UInt8]? {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { return all }
            all.append(contentsOf: chunk[..<count])
            guard all.count <= longest else { return nil }
        }
    }
}
