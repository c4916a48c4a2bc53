// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// Answers FastAGI on the engine's own loop: a call that waits costs one connection and no polling.
final class FastAGIServer {
    private static let mostChannels = 10_000

    private let desk: EngineDesk
    private let log: EngineLog
    private let allowed: NetworkList
    private var listener: LineListener?
    private var channels: [ObjectIdentifier: FastAGIChannel] = [:]

    /// Why the setting cannot be used.
    struct Failure: Error {
        let message: String
    }

    /// Listens on `HOST:PORT`.
    init(_ address: String, allowing networks: String, desk: EngineDesk, loop: Loop, log: EngineLog) throws(Failure) {
        self.desk = desk
        self.log = log
        let socket: SocketAddress
        do throws(SettingError) {
            allowed = try Self.networks(networks)
            socket = try Self.socket(address)
        } catch {
            throw Failure(message: "\(error.setting): \(error.message)")
        }
        do throws(SystemError) {
            listener = try LineListener(socket, loop: loop, onFull: { desk.descriptorsAreShort($0) }) { [weak self] in
                self?.accept($0, $1)
            }
        } catch {
            throw Failure(message: "fastagi_listen: cannot listen on \(address): \(error); choose another port")
        }
    }

    /// The networks of `fastagi_allow`.
    static func networks(_ text: String) throws(SettingError) -> NetworkList {
        guard let networks = NetworkList(text) else {
            throw SettingError(
                setting: "fastagi_allow",
                message: "\"\(text.prefix(80))\" is no list of networks; write 127.0.0.0/8,::1/128")
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
                message: "\"\(text.prefix(80))\" is no address and port; write 127.0.0.1:4573")
        }
        return socket
    }

    private func accept(_ connection: LineConnection, _ peer: SocketAddress) {
        guard allowed.contains(peer.ip), channels.count < Self.mostChannels else {
            log(.warning, "FastAGI: \(peer.ip) was turned away; see fastagi_allow")
            return connection.close()
        }
        let channel = FastAGIChannel(connection, desk)
        let id = ObjectIdentifier(channel)
        channels[id] = channel
        connection.onLine = { [weak channel] in channel?.line($0) }
        connection.onClose = { [weak self, weak channel] in
            channel?.connectionClosed()
            self?.channels[id] = nil
        }
    }
}
