// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// The place where PBX processes and shells come in, for as long as the engine lives: a socket whose file somebody takes
/// away is made anew, or nobody who is not there yet could come any more.
final class EngineListener {
    /// Milliseconds after which a place that another one has is tried again.
    private static let retryPause: Int64 = 10_000

    private let path: String
    private let group: String
    private let loop: Loop
    private let log: EngineLog
    private var socket: LocalSocket
    private var gate: AcceptGate?
    private var onPeer: ((LocalSocket) -> Void)?
    private var onFull: ((_ limit: Int) -> Void)?
    private var retryAt = Int64.min
    private var isLost = false

    /// Takes the place; nobody is let in before `start`.
    init(_ settings: Settings, loop: Loop, log: EngineLog) throws(EngineFailure) {
        path = settings.text(.engineSocket)
        group = settings.text(.engineSocketGroup)
        self.loop = loop
        self.log = log
        do throws(LocalSocket.Failure) {
            socket = try Self.listen(path)
        } catch {
            throw EngineFailure(message: "engine_socket: \(error.message)")
        }
        admitGroup()
    }

    private static func listen(_ path: String) throws(LocalSocket.Failure) -> LocalSocket {
        Directory.makeParent(of: path)
        return try LocalSocket.listen(path: path)
    }

    private func admitGroup() {
        guard !group.isEmpty else { return }
        do throws(LocalSocket.Failure) {
            try LocalSocket.admit(group: group, to: path)
        } catch {
            log(.warning, "engine_socket_group: \(error.message)")
        }
    }

    /// Lets peers in from now on. `onFull` runs whenever one has to wait for descriptors.
    func start(
        onPeer: @escaping (LocalSocket) -> Void, onFull: @escaping (_ limit: Int) -> Void
    ) throws(SystemError) {
        (self.onPeer, self.onFull) = (onPeer, onFull)
        try watch(socket)
    }

    private func watch(_ socket: LocalSocket) throws(SystemError) {
        try loop.watch(socket.descriptor, for: .readable, Door(self))
        gate = AcceptGate(socket.descriptor, loop: loop) { [weak self] in self?.onFull?($0) }
    }

    /// Sees whether the socket is still in its place; to be called each second.
    func look() {
        guard !socket.isInPlace, loop.now >= retryAt else { return }
        do throws(LocalSocket.Failure) {
            let made = try Self.listen(path)
            // Those who are on their way to the old one come in.
            takePeers()
            loop.unwatch(socket.descriptor)
            socket = made
            admitGroup()
            do throws(SystemError) {
                try watch(made)
            } catch {
                log(.error, "engine_socket: \(error)")
            }
            log(.warning, "engine_socket: \(path) was removed and has been created again")
            isLost = false
        } catch {
            retryAt = loop.now + Self.retryPause
            if !isLost {
                log(
                    .error,
                    "engine_socket: \(path) was removed and could not be created again, so no client can connect; \(error.message)"
                )
            }
            isLost = true
        }
    }

    private func takePeers() {
        while true {
            let taken = socket.accept()
            guard gate?.isShut(after: taken?.descriptor ?? -1) != true, let peer = taken else { return }
            onPeer?(peer)
        }
    }

    /// What the loop has of it.
    private final class Door: LoopSource {
        weak var listener: EngineListener?

        init(_ listener: EngineListener) { self.listener = listener }

        func ready(_ readiness: Loop.Readiness) { listener?.takePeers() }
    }
}
