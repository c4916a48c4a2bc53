// SPDX-License-Identifier: MIT

internal import PushWakeSystem

/// What the store does at a server is tried there, so that a right that is missing is named before a phone needs it, and
/// a server that takes changes again is known to.
extension ValkeyStore {
    /// Keys among which one is found for each server.
    private static let mostTrialKeys = 4096

    /// Tries all servers.
    func tryServers() {
        for server in servers.names { tryServer(server) }
    }

    /// Tries those that denied or refused something.
    func tryServersInTrouble() {
        for server in servers.names where rights.isLacking(server) || serverErrors.has(server) { tryServer(server) }
    }

    /// A server has denied something.
    func denied(_ text: String, by server: String?) {
        guard let server else {
            rights.listens(lacking: ServerRights.right(of: servers.words.subscribe, text, prefix: options.prefix))
            return sayRights()
        }
        guard !rights.isLacking(server) else { return }
        rights.note(denial: text, by: server)
        tryServer(server)
    }

    /// Announcements are heard.
    func allowedToListen() {
        rights.listens(lacking: nil)
        sayRights()
    }

    private func tryServer(_ server: String) {
        let number = (0..<Self.mostTrialKeys).first { servers.server(of: keys.trial(options.node, $0)) == server }
        guard let number, rights.begin(server) else { return }
        var lacking: Set<String> = []
        var isCut = false
        let trials = trials(keys.trial(options.node, number))
        var left = trials.count
        for trial in trials {
            servers.send(trial, to: server) { [weak self] reply in
                guard let self else { return }
                let name = String(decoding: trial[0], as: UTF8.self)
                switch reply {
                case .error(let text)? where ServerRights.isDenial(text):
                    lacking.insert(ServerRights.right(of: name, text, prefix: options.prefix))
                case .error(let text)? where name == "HSET" && !ServerErrors.isAboutOne(text):
                    refused(text, by: server)
                case .integer where name == "HSET": serverErrors.end(server)
                case nil: isCut = true
                default: break
                }
                left -= 1
                if left == 0 { tried(server, isCut ? nil : lacking) }
            }
        }
    }

    /// All that is sent outside of a connection's beginning, without any effect that lasts. A server looks at rights before
    /// it looks at anything else.
    private func trials(_ key: [UInt8]) -> [[[UInt8]]] {
        let trials: [[[UInt8]]] = [
            ["SET".word, key, [], "EX".word, "60".word], ["GET".word, key], ["DEL".word, key],
            ["HSET".word, key, "a".word, []], ["EXPIRE".word, key, "60".word], ["HKEYS".word, key], ["DEL".word, key],
            ["EVAL".word, "return 1".word, "0".word],
            ["EVALSHA".word, [UInt8](repeating: UInt8(ascii: "0"), count: 40), "0".word],
            ["SCAN".word, "0".word, "COUNT".word, "1".word],
            [servers.words.publish.word, keys.quietChannel(options.node), []],
        ]
        // It is about the next command alone.
        return trials + (servers.words.asks ? [["ASKING".word], ["EVAL".word, "return 1".word, "0".word]] : [])
    }

    private func tried(_ server: String, _ lacking: Set<String>?) {
        if let denial = rights.end(server, lacking: lacking) {
            let (error, isNew) = serverErrors.note(denial, by: server, "\(access.address)", now: loop.now)
            if isNew { say(true, "\(error); \(ServerRights.remedy)") }
        }
        sayRights()
    }

    private func sayRights() {
        guard let notice = rights.notice(servers.names) else { return }
        say(notice.isWarning, "\(access.address): \(notice.text)")
    }
}
