// SPDX-License-Identifier: MIT

private import CLinux

/// Small files: keys, certificates, templates.
public enum FileContent {
    /// All bytes of a file of at most 1 MB.
    public static func read(_ path: String) throws(SystemError) -> [UInt8] {
        let descriptor = clinux_open_for_reading(path)
        guard descriptor >= 0 else { throw SystemError.last("read \(path)") }
        defer { _ = close(descriptor) }
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = chunk.withUnsafeMutableBytes { CLinux.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && clinux_errno() == EINTR { continue }
            guard count >= 0 else { throw SystemError.last("read \(path)") }
            if count == 0 { return all }
            all.append(contentsOf: chunk[..<count])
            guard all.count <= 1 << 20 else { throw SystemError("read \(path)", code: EFBIG) }
        }
    }

    /// The first bytes of a file of any length.
    public static func read(_ path: String, atMost count: Int) throws(SystemError) -> [UInt8] {
        let descriptor = clinux_open_for_reading(path)
        guard descriptor >= 0 else { throw SystemError.last("read \(path)") }
        defer { _ = close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: count)
        let got = bytes.withUnsafeMutableBytes { CLinux.read(descriptor, $0.baseAddress, $0.count) }
        guard got >= 0 else { throw SystemError.last("read \(path)") }
        return Array(bytes[..<got])
    }

    /// Names in a directory that end with a suffix, sorted.
    public static func names(in directory: String, ending suffix: String) throws(SystemError) -> [String] {
        guard let handle = opendir(directory) else { throw SystemError.last("list \(directory)") }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = String(cString: clinux_entry_name(entry))
            if name.hasSuffix(suffix) { names.append(name) }
        }
        return names.sorted()
    }
}
