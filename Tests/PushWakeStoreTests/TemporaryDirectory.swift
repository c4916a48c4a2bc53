// SPDX-License-Identifier: MIT

import Glibc

/// Runs `body` with the path of a new directory, which is gone afterwards.
@discardableResult
func withTemporaryDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
    let path = try makeTemporaryDirectory()
    defer { removeDirectory(path) }
    return try body(path)
}

/// The same with the path of a database in it.
@discardableResult
func withDatabasePath<Result>(_ body: (String) throws -> Result) throws -> Result {
    try withTemporaryDirectory { try body($0 + "/bindings.db") }
}

/// Makes a directory of which nobody else knows the name.
func makeTemporaryDirectory() throws -> String {
    var template = Array("/tmp/pushwake-store-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw TemporaryDirectoryError.failed(errno) }
    return String(cString: made)
}

/// Removes a directory with all files in it and in its directories.
func removeDirectory(_ path: String) {
    guard let directory = opendir(path) else { return }
    while let entry = readdir(directory) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        guard name != ".", name != ".." else { continue }
        if unlink("\(path)/\(name)") != 0 { removeDirectory("\(path)/\(name)") }
    }
    closedir(directory)
    rmdir(path)
}

enum TemporaryDirectoryError: Error {
    case failed(Int32)
}
