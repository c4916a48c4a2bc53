// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeSystem
import PushWakeTransport
import Testing

@testable import PushWakeEngine

/// A service-account file as Google's, with a key of its own.
enum FCMAccountFile {
    static func bytes(_ project: String) throws -> [UInt8] {
        var json = JSONWriter()
        let key = String(decoding: try PrivateKey.makeRSA().pem(), as: UTF8.self)
        json.object { json in
            for (name, value) in [
                ("type", "service_account"), ("project_id", project), ("private_key_id", "k"), ("private_key", key),
                ("client_email", "push@\(project).example"), ("token_uri", "https://oauth2.googleapis.com/token"),
            ] {
                json.name(name)
                json.string(value)
            }
        }
        return json.bytes
    }

    static func text(project: String) throws -> String { String(decoding: try bytes(project), as: UTF8.self) }
}

@Suite struct `Keys of several Google accounts` {
    /// Puts a file in the place of another, as a careful operator does.
    private static func put(_ bytes: [UInt8], at path: String) {
        let file = open(path + ".new", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        _ = write(file, bytes, bytes.count)
        close(file)
        rename(path + ".new", path)
    }

    @Test func `are read again where their files have changed, and nowhere else`() throws {
        var template = Array("/tmp/pushwake-fcmkeys-XXXXXX".utf8CString)
        let directory = String(cString: try #require(mkdtemp(&template)))
        let paths = ["one", "two"].map { "\(directory)/fcmkey.com.example.\($0).json" }
        defer {
            for path in paths { unlink(path) }
            rmdir(directory)
        }
        for (path, project) in zip(paths, ["one", "two"]) { Self.put(try FCMAccountFile.bytes(project), at: path) }
        var settings = Settings()
        try settings.set("fcm_key_dir", to: directory)
        #expect(FCMKeys.count(settings) == 2)
        let first = FCMKeys(settings)
        #expect(first.problems.isEmpty && first.keys.compactMap { $0?.account.project } == ["one", "two"])
        Self.put(try FCMAccountFile.bytes("third"), at: paths[1])
        let second = FCMKeys(settings, keeping: first)
        #expect(second.keys.compactMap { $0?.account.project } == ["one", "third"])
        #expect(second.keys[0]?.signer === first.keys[0]?.signer)
        // A file that is broken keeps its key, and is read until it is right.
        Self.put(Array("{".utf8), at: paths[0])
        let third = FCMKeys(settings, keeping: second)
        #expect(third.problems.count == 1 && third.keys[0]?.signer === first.keys[0]?.signer)
        let fourth = FCMKeys(settings, keeping: third)
        #expect(fourth.problems.count == 1 && fourth.keys[1]?.signer === second.keys[1]?.signer)
        Self.put(try FCMAccountFile.bytes("one"), at: paths[0])
        let fifth = FCMKeys(settings, keeping: fourth)
        #expect(fifth.problems.isEmpty && fifth.keys[0] != nil && fifth.keys[0]?.signer !== first.keys[0]?.signer)
    }
}
