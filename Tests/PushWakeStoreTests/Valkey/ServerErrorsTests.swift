// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeStore

private let oom = "OOM command not allowed when used memory > 'maxmemory'."

@Suite struct `Servers that refuse` {
    private let both = ["a", "b"]

    private func note(_ serverErrors: inout ServerErrors, _ text: String, by server: String, at now: Int64 = 0) -> Bool
    {
        serverErrors.note(text, by: server, "redis", now: now).isNew
    }

    @Test func `are told apart: what one stores says nothing of another`() {
        var serverErrors = ServerErrors()
        #expect(note(&serverErrors, oom, by: "b"))
        for now in 1...100 as ClosedRange<Int64> {
            serverErrors.end("a")
            #expect(!note(&serverErrors, oom, by: "b", at: now * 5000))
        }
        #expect(serverErrors.error(of: both) == .full("redis: b: \(oom)"))
        serverErrors.end("b")
        #expect(serverErrors.error(of: both) == nil)
    }

    @Test func `are named once a minute, whatever they store in between`() {
        var serverErrors = ServerErrors()
        #expect(note(&serverErrors, oom, by: "b"))
        serverErrors.end("b")
        #expect(!note(&serverErrors, oom, by: "b", at: 59_999))
        #expect(note(&serverErrors, "MISCONF Errors writing to the AOF file", by: "b", at: 59_999))
        serverErrors.end("b")
        #expect(note(&serverErrors, oom, by: "b", at: 60_000))
    }

    @Test func `count no more when they have no keys any more`() {
        var serverErrors = ServerErrors()
        _ = note(&serverErrors, oom, by: "old")
        #expect(serverErrors.error(of: both) == nil && serverErrors.error(of: ["old"]) != nil)
    }

    @Test(arguments: [
        "TRYAGAIN slot 7 is on its way to another master", "ERR no", "WRONGTYPE Operation", "MOVED 1 h:1",
        "CLUSTERDOWN Hash slot not served",
    ])
    func `say of one key or slot what holds for no other`(text: String) {
        var serverErrors = ServerErrors()
        #expect(note(&serverErrors, text, by: "a"))
        #expect(!note(&serverErrors, text, by: "a"))
        #expect(serverErrors.error(of: both) == nil)
    }
}

@Suite struct `Rights of a server's user` {
    @Test(arguments: [
        ("GET", "NOPERM User pushwake has no permissions to run the 'get' command", "+get"),
        ("HKEYS", "NOPERM this user has no permissions to run the 'hkeys' command", "+hkeys"),
        ("GET", "NOPERM No permissions to access a key", "~pw:*"),
        ("GET", "NOPERM this user has no permissions to access one of the keys used as arguments", "~pw:*"),
        ("SUBSCRIBE", "NOPERM this user has no permissions to access one of the channels used as arguments", "&pw:*"),
        ("PUBLISH", "NOPERM No permissions to access a channel", "&pw:*"),
    ])
    func `are named as the page has them`(command: String, text: String, right: String) {
        #expect(ServerRights.isDenial(text))
        #expect(ServerRights.right(of: command, text, prefix: "pw") == right)
    }

    @Test(arguments: [
        "ERR The user executing the script can't run this command or subcommand script: 3, on @user_script:3.",
        "ERR ACL failure in script: User pushwake has no permissions to run the 'hset' command script: 1",
    ])
    func `are denied to scripts as well`(text: String) { #expect(ServerRights.isDenial(text)) }

    @Test func `that lack are said once, and when they have come`() {
        var rights = ServerRights()
        #expect(rights.begin("a") && !rights.begin("a"))
        #expect(rights.end("a", lacking: ["+publish"]) == nil)
        #expect(rights.notice(["a", "b"])?.text == "its user lacks +publish: \(ServerRights.remedy)")
        // Bindings are stored without it.
        #expect(rights.error(of: ["a", "b"], "redis") == nil)
        _ = rights.begin("b")
        _ = rights.end("b", lacking: ["+publish"])
        #expect(rights.notice(["a", "b"]) == nil)
        _ = rights.begin("b")
        _ = rights.end("b", lacking: ["+get", "+publish"])
        #expect(rights.notice(["a", "b"])?.isWarning == true)
        #expect(
            rights.error(of: ["a", "b"], "redis") == .unusable("redis: its user lacks +get: \(ServerRights.remedy)"))
        for server in ["a", "b"] {
            _ = rights.begin(server)
            _ = rights.end(server, lacking: [])
        }
        #expect(rights.notice(["a", "b"])?.isWarning == false)
        #expect(rights.notice(["a", "b"]) == nil)
    }

    @Test func `leave no denial without a word`() {
        var rights = ServerRights()
        rights.note(denial: "NOPERM something else", by: "a")
        _ = rights.begin("a")
        // Its connection ended.
        #expect(rights.end("a", lacking: nil) == nil)
        rights.note(denial: "NOPERM something else", by: "a")
        _ = rights.begin("a")
        #expect(rights.end("a", lacking: []) == "NOPERM something else")
    }
}
