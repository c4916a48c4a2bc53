// SPDX-License-Identifier: MIT

import Glibc
import Testing

@Suite struct `Inputs that broke something, and those that fuzzing begins with` {
    @Test(
        arguments: [
            ("agi", fuzzAGI), ("answer", fuzzAnswer), ("http1", fuzzHTTP1), ("http2", fuzzHTTP2),
            ("image", fuzzImage), ("key", fuzzKey), ("legs", fuzzLegs), ("listener", fuzzListener),
            ("message", fuzzMessage),
            ("register", fuzzRegister), ("request", fuzzRequest), ("row", fuzzRow), ("settings", fuzzSettings),
            ("template", fuzzTemplate), ("upstream", fuzzUpstream),
        ] as [(String, @Sendable (UnsafePointer<UInt8>?, Int) -> CInt)])
    func `break nothing`(target: String, run: @Sendable (UnsafePointer<UInt8>?, Int) -> CInt) throws {
        let seeds = target == "register" ? "Tests/PushWakeCoreTests/Fixtures" : "Fuzz/Seeds/\(target)"
        let files = try Self.files(seeds)
        #expect(!files.isEmpty)
        for file in files + ((try? Self.files("Fuzz/FailCases/\(target)")) ?? []) {
            let bytes = try Self.bytes(file)
            // From the whole input down to nothing: what is cut off must do no harm either.
            for count in stride(from: bytes.count, through: 0, by: -max(1, bytes.count / 50)) {
                // A copy that ends with the input, so that a look past its end is seen by a sanitizer.
                let part = Array(bytes[..<count])
                part.withUnsafeBufferPointer { #expect(run($0.baseAddress, count) == 0, "\(file), \(count) bytes") }
            }
        }
    }

    private struct Unreadable: Error {
        let path: String
    }

    private static let root = "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/")

    /// The paths of the files in a directory of the tree.
    private static func files(_ name: String) throws -> [String] {
        let path = "\(root)/\(name)"
        guard let directory = opendir(path) else { throw Unreadable(path: path) }
        defer { closedir(directory) }
        var found: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { found.append("\(path)/\(name)") }
        }
        return found.sorted()
    }

    private static func bytes(_ path: String) throws -> [UInt8] {
        guard let stream = fopen(path, "rb") else { throw Unreadable(path: path) }
        defer { fclose(stream) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = fread(&buffer, 1, buffer.count, stream)
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }
}
