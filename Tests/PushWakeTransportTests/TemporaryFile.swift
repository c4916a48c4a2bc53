// SPDX-License-Identifier: MIT

import CLinux

/// Files for what only takes a path.
enum TemporaryFile {
    struct Failure: Error {}

    static func make(_ bytes: [UInt8]) throws -> String {
        var template = Array("/tmp/pushwake-test-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw Failure() }
        defer { close(descriptor) }
        guard write(descriptor, bytes, bytes.count) == bytes.count else { throw Failure() }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func remove(_ path: String) { unlink(path) }
}
