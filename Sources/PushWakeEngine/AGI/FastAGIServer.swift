// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// Answers FastAGI on the engine's own loop: a call that waits costs one connection and no polling.
final class FastAGIServer {
    private static let mostChannels = 10_000
    /// Milliseconds for the lines that introduce a channel.
    private static let introduction: Int64 = 5000
    private static let shortestToken = 8

    private let core: EngineCore
    private let allowed: NetworkList
    private let token: String
    private let loop: Loop
    private var listener: LineListener?
    private var channels: [ObjectIdentifier: FastAGIChannel] = [:]
    private let refusals: LimitedLines
    private let silences: LimitedLines

    /// Why the setting cannot be used.
    struct Failure: Error {
        let message: String
    }

    /// Listens on `HOST:PORT`; whoever connects must say the first line of `tokenFile`, if there is one.
    init(
        _ address: String, allowing networks: String, tokenFile: String = "", core: EngineCore, loop: Loop,
        log: EngineLog
    ) throws(Failure) {
        self.loop = loop
        self.core = core
        refusals = LimitedLines(log)
        silences = LimitedLines(log)
        let socket: SocketAddress
        do throws(SettingError) {
            allowed = try Self.networks(networks)
            socket = try Self.socket(address)
            token = try Self.token(tokenFile)
        } catch {
            throw Failure(message: "\(error.setting): \(error.message)")
        }
        do throws(SystemError) {
            listener = try LineListener(socket, loop: loop, onFull: { core.hosts.descriptorsAreShort($0) }) {
                [weak self] in
                self?.accept($0, $1)
            }
        } catch {
            throw Failure(message: "fastagi_listen: cannot listen on \(address): \(error); choose another port")
        }
    }

    /// The token of `fastagi_token_file`; empty without a file.
    static func token(_ path: String) throws(SettingError) -> String {
        guard !path.isEmpty else { return "" }
        let bytes = FileContent.withoutMark((try? FileContent.read(path)) ?? [])
        let line = bytes.split(separator: 0x0A).first.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let token = String(line.filter { !$0.isWhitespace })
        guard token.utf8.count >= shortestToken else {
            throw SettingError(
                setting: "fastagi_token_file",
                message: "\(path) has no first line of \(shortestToken) bytes or more; write one, readable for the PBX")
        }
        return token
    }

    /// The networks of `fastagi_allow`.
    static func networks(_ text: String) throws(SettingError) -> NetworkList {
        guard let networks = NetworkList(text) else {
            throw SettingError(
                setting: "fastagi_allow",
                message: "\"\(text.prefix(80))\" is not a list of networks; write 127.0.0.0/8,::1/128")
        }
        return networks
    }

    /// The address of `fastagi_listen`.
    static func socket(_ text: String) throws(SettingError) -> SocketAddress {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
            let socket = SocketAddress(ip: String(text[..<colon]), port: port)
        else {
            throw SettingError(
                setting: "fastagi_listen",
                message: "\"\(text.prefix(80))\" is not an address and port; write 127.0.0.1:4573")
        }
        return socket
    }

    private func accept(_ connection: LineConnection, _ peer: SocketAddress) {
        guard allowed.contains(peer.ip) else {
            refusals(.warning, "FastAGI: \(peer.ip) was refused; see fastagi_allow")
            return connection.close()
        }
        // The PBX itself needs descriptors of this process too.
        guard channels.count < min(Self.mostChannels, AcceptGate.limit / 2) else {
            refusals(.warning, "FastAGI: \(peer.ip) was turned away: \(channels.count) channels are open")
            return connection.close()
        }
        let channel = FastAGIChannel(connection, core, token: token)
        let id = ObjectIdentifier(channel)
        channels[id] = channel
        loop.schedule(after: Self.introduction) { [weak self, weak channel] in
            guard let self, let channel, !channel.isIntroduced() else { return }
            silences(.info, "FastAGI: \(peer.ip) connected and sent nothing")
        }
        channel.onSilence = { [silences] in silences(.info, "FastAGI: \(peer.ip) gave no answer to a command") }
        connection.onLine = { [weak channel] in channel?.line($0) }
        connection.onClose = { [weak self, weak channel] in
            channel?.connectionClosed()
            self?.channels[id] = nil
        }
    }
}
