// SPDX-License-Identifier: MIT

import PushWakeCore

/// What runs on the server: few lines, and no rule of ours. Rules live in `Rules/`; a script only sees to it that a user
/// is written as it was read, or not at all.
struct ValkeyScript {
    let name: String
    let source: String
    /// A user can be read without it.
    var canBeRead = true

    /// Writes a user who is still as he was read.
    ///
    ///     KEYS  image, holders
    ///     ARGV  version that was read (empty: there was none), new image (empty: remove), seconds to keep it
    ///     →     {1, nodes that hold requests for this user}, or {0, the image as it is}
    ///
    /// ORDER: holders are read after the write, and `hold` reads the image after it has written a holder: of a REGISTER and
    /// a request that come to two nodes at once, one knows of the other.
    static let put = ValkeyScript(
        name: "put",
        source: """
            local old = redis.call('GET', KEYS[1])
            local version = ''
            if old then version = string.sub(old, 1, 8) end
            if version ~= ARGV[1] then return {0, old or ''} end
            if ARGV[2] == '' then redis.call('DEL', KEYS[1])
            else redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) end
            return {1, redis.call('HKEYS', KEYS[2])}
            """, canBeRead: false)

    /// Reads a user for a request that this node may hold, and remembers that it may, for as long as the longest of all
    /// that may be held for the user.
    ///
    ///     KEYS  image, holders, claim of the request
    ///     ARGV  node, seconds for which it may hold the request, milliseconds in which it says that it does push
    ///     →     {image, node that pushes for the request}; nil for a user who has nothing
    static let hold = ValkeyScript(
        name: "hold",
        source: """
            local image = redis.call('GET', KEYS[1])
            if not image then return false end
            redis.call('HSET', KEYS[2], ARGV[1], '')
            if redis.call('EXPIRE', KEYS[2], ARGV[2], 'NX') == 0 then redis.call('EXPIRE', KEYS[2], ARGV[2], 'GT') end
            redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[3], 'NX')
            return {image, redis.call('GET', KEYS[3])}
            """)

    /// Remembers once more that this node holds requests for a user, and reads him, of whom there may be nothing.
    ///
    ///     KEYS  image, holders
    ///     ARGV  node, seconds for which it may hold the requests
    ///     →     image; nil for a user who has nothing
    static let holdAgain = ValkeyScript(
        name: "holdAgain",
        source: """
            redis.call('HSET', KEYS[2], ARGV[1], '')
            if redis.call('EXPIRE', KEYS[2], ARGV[2], 'NX') == 0 then redis.call('EXPIRE', KEYS[2], ARGV[2], 'GT') end
            return redis.call('GET', KEYS[1])
            """)

    static let all = [put, hold, holdAgain]
}

/// Makes the scripts known to each server that is connected to.
final class ScriptGreeting {
    /// A server has named a script; all give it the same name.
    var onLoaded: (_ script: String, _ id: [UInt8]) -> Void = { _, _ in }

    var commands: ValkeyGreeting {
        ValkeyScript.all.map { script in
            (
                ["SCRIPT".word, "LOAD".word, script.source.word],
                { reply in
                    if case .error(let text) = reply { return text }
                    if let id = reply.bulk { self.onLoaded(script.name, id) }
                    return nil
                }
            )
        }
    }
}

/// Names of keys. All of one user carry the AoR as hash tag, so that a cluster keeps them on one node; the colon in it
/// sees to it that no tag is empty.
struct ValkeyKeys {
    private let prefix: [UInt8]

    init(prefix: String) { self.prefix = Array(prefix.utf8) }

    /// The user itself.
    func image(_ aor: String) -> [UInt8] { user(aor, "") }

    /// Nodes that may hold requests for the user.
    func holders(_ aor: String) -> [UInt8] { user(aor, "h") }

    /// Who pushes for a request.
    func claim(_ aor: String, _ request: String) -> [UInt8] { user(aor, "c\(request)") }

    /// Whose a PURR is.
    func purr(_ purr: PURR) -> [UInt8] { prefix + Array(":purr:".utf8) + purr.bytes }

    /// Who has registered a token last, by its fingerprint: no key shows a token. Where two are equal, whoever looks sees
    /// another token.
    func tokenUser(_ fingerprint: UInt64) -> [UInt8] { prefix + Array(":tok:\(String(fingerprint, radix: 36))".utf8) }

    /// Where a node hears of phones that registered elsewhere.
    func channel(_ node: String) -> [UInt8] { prefix + Array(":node:\(node)".utf8) }

    /// Says that a node is there.
    func presence(_ node: String) -> [UInt8] { prefix + Array(":here:\(node)".utf8) }

    /// Says that a node is reached here; apart, as it is no node's name.
    func address(_ uri: String) -> [UInt8] { prefix + Array(":at:\(uri)".utf8) }

    /// A key of a node's own; there are as many as it takes to have one at each server.
    func trial(_ node: String, _ number: Int) -> [UInt8] { prefix + Array(":try:\(number):\(node)".utf8) }

    /// Where nobody listens.
    func quietChannel(_ node: String) -> [UInt8] { prefix + Array(":try:\(node)".utf8) }

    /// Pattern of all presences.
    var presences: [UInt8] { Self.literally(prefix) + Array(":here:*".utf8) }

    /// The node that says it is there.
    func node(ofPresence key: [UInt8]) -> String? {
        let start = prefix + Array(":here:".utf8)
        return key.starts(with: start) ? String(decoding: key[start.count...], as: UTF8.self) : nil
    }

    /// Pattern of the images of all users whose names begin so.
    func images(beginning: String) -> [UInt8] {
        Self.literally(prefix) + Array(":{:".utf8) + Self.literally(Array(beginning.utf8)) + Array("*}".utf8)
    }

    private static func literally(_ text: [UInt8]) -> [UInt8] { text.flatMap { [UInt8(ascii: "\\"), $0] } }

    /// The AoR of an image's key; nil for other keys.
    func aor(ofImage key: [UInt8]) -> String? {
        let start = prefix + Array(":{:".utf8)
        guard key.starts(with: start), key.last == UInt8(ascii: "}"), key.count > start.count else { return nil }
        return String(decoding: key[start.count...].dropLast(), as: UTF8.self)
    }

    private func user(_ aor: String, _ suffix: String) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(prefix.count + aor.utf8.count + suffix.utf8.count + 4)
        key += prefix
        for part in [":{:", aor, "}", suffix] { part.utf8.span.append(to: &key) }
        return key
    }
}
