// SPDX-License-Identifier: MIT

import Glibc

/// Who else uses a file, as far as this user may know: for words to an operator.
public enum FileUsers {
    private static let most = 5

    /// Processes that hold a lock on one of the files for writing, such as `1234 (sqlite3)`; empty when nobody is seen.
    static func locking(_ paths: [String]) -> [String] {
        let files = paths.compactMap(inode)
        guard !files.isEmpty else { return [] }
        var found: [String] = []
        // 1: POSIX ADVISORY WRITE 1234 fd:00:5678 120 120
        for line in read("/proc/locks").split(separator: "\n") where found.count < most {
            let words = line.split(separator: " ")
            guard words.count >= 6, words[3] == "WRITE", let pid = Int32(words[4]), pid != getpid(), pid > 0,
                let number = words[5].split(separator: ":").last, files.contains(String(number))
            else { continue }
            let name = name(of: pid)
            if !found.contains(name) { found.append(name) }
        }
        return found
    }

    /// Processes that have the file open.
    public static func having(_ path: String) -> [String] {
        guard let real = realpath(path, nil) else { return [] }
        defer { free(real) }
        let target = String(cString: real)
        var found: [String] = []
        for pid in names(in: "/proc").compactMap({ Int32($0) }) where pid != getpid() && found.count < most {
            let directory = "/proc/\(pid)/fd"
            guard names(in: directory).contains(where: { link("\(directory)/\($0)") == target }) else { continue }
            found.append(name(of: pid))
        }
        return found
    }

    private static func name(of pid: Int32) -> String {
        let command = read("/proc/\(pid)/comm").split(separator: "\n").first ?? "?"
        return "\(pid) (\(command))"
    }

    private static func inode(_ path: String) -> String? {
        var status = stat()
        return stat(path, &status) == 0 ? String(status.st_ino) : nil
    }

    private static func names(in path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private static func link(_ path: String) -> String? {
        var target = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &target, target.count)
        return count > 0 ? String(decoding: target[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
    }

    private static func read(_ path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < 1 << 20 {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
