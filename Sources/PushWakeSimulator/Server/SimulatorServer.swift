// SPDX-License-Identifier: MIT

internal import CLinux
internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// The simulator: listens, and runs until it is told to stop.
public final class SimulatorServer {
    /// Where to listen, where the files are, and what to play.
    public struct Options {
        /// IP literal of the address.
        public var ip = "127.0.0.1"
        /// 0 picks a free port.
        public var port: UInt16 = 8_443
        /// IP literal and port of a second address, which no script disturbs; nil: none.
        public var control: (ip: String, port: UInt16)?
        /// Where keys and certificates are, or will be made.
        public var directory: String
        /// File that gets one line per request; nil: none.
        public var logPath: String?
        /// Seconds by which its clock differs from this machine's.
        public var clock: Int64 = 0
        /// What is played from the start.
        public var script = FaultScript()

        /// Takes the directory and leaves the rest at its defaults.
        public init(directory: String) { self.directory = directory }
    }

    /// Why the simulator cannot start.
    public struct Failure: Error, CustomStringConvertible {
        /// What failed, for people.
        public let description: String
    }

    let loop: Loop
    var router: ProviderRouter
    let log: RequestLog?
    /// Number of the connection that came last; no reset begins anew.
    private var lastConnection = 0
    /// Milliseconds since the epoch.
    private(set) var now: Int64 = 0
    private let clock: Int64
    /// The Date of this second, which most answers have.
    private var date: (second: Int64, header: ProviderAnswer.Header)?
    let receiveBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 16)
    private let listener: Socket
    private let controlListener: Socket?
    /// Who must have signed the certificates of senders.
    let pushAuthority: Certificate
    private let context: ServerContext
    private let failingContext: ServerContext
    /// `https://127.0.0.1:8443`, with the port that was picked.
    public let origin: String
    /// The same of the second address; nil when there is none.
    public let controlOrigin: String?

    /// Makes the files that are missing and listens.
    public init(_ options: Options) throws(Failure) {
        clock = options.clock &* 1_000
        do {
            let files = try SimulatorFiles(directory: options.directory)
            loop = try Loop()
            listener = try Self.listen(options.ip, options.port)
            controlListener = try options.control.map { try Self.listen($0.ip, $0.port) }
            controlOrigin = controlListener.map { "https://\($0.localAddress)" }
            let bound = listener.localAddress
            origin = "https://\(bound)"
            // Nobody reads it there, so nothing need be formatted.
            let logPath = options.logPath == "/dev/null" ? nil : options.logPath
            log = try logPath.map { path throws(FileStore.Failure) in try RequestLog(path: path) }
            context = try ServerContext(files: (files.certificatePath, files.serverKeyPath))
            failingContext = try ServerContext(files: nil)
            pushAuthority = files.pushAuthority
            router = try Self.router(files, origin: origin)
            router.play(options.script)
            try files.publish(origin: origin, port: bound.port)
            try loop.watch(listener.descriptor, for: .readable, Acceptor(self, listener, isDisturbed: true))
            if let controlListener {
                try loop.watch(
                    controlListener.descriptor, for: .readable, Acceptor(self, controlListener, isDisturbed: false))
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(description: "\(error)")
        }
    }

    deinit { receiveBuffer.deallocate() }

    /// Serves until SIGTERM, SIGINT or a call of `stopper`.
    public func run() throws(Failure) {
        clinux_raise_descriptor_limit()
        do {
            try Signals { [loop] number in
                // SIGHUP, 1, is for daemons that read files again.
                if number != 1 { loop.stop() }
            }.attach(to: loop)
        } catch {
            throw Failure(description: "\(error)")
        }
        loop.run()
        loop.unwatch(listener.descriptor)
        if let controlListener { loop.unwatch(controlListener.descriptor) }
        log?.flush()
    }

    /// Ends `run()`; any thread may call it.
    public var stopper: @Sendable () -> Void {
        let poster = loop.poster
        // The loop ends with the turn in which it hears of it.
        nonisolated(unsafe) let loop = loop
        return { poster.post { loop.stop() } }
    }

    /// What a service adds to all its answers: Date (RFC 9110, 6.6.1). Apple's have none.
    fileprivate func complete(_ answer: inout ProviderAnswer, of provider: ProviderName?) {
        guard provider != .apns, provider != .control, answer["date"] == nil else { return }
        if date?.second != now / 1_000 {
            date = (now / 1_000, ProviderAnswer.Header("date", HTTPDate.text(now / 1_000)))
        }
        if let date { answer.headers.append(date.header) }
    }

    private static func listen(_ ip: String, _ port: UInt16) throws(Failure) -> Socket {
        guard let address = SocketAddress(ip: ip, port: port) else {
            throw Failure(description: "\(ip) is not an IP address; use 127.0.0.1")
        }
        do throws(SystemError) {
            return try Socket.listen(on: address)
        } catch {
            throw Failure(description: "\(error); choose another address or port")
        }
    }

    /// Takes what has come. `isDisturbed`: the script may do something to it.
    fileprivate func accept(_ listener: Socket, isDisturbed: Bool) {
        while let (socket, _) = listener.accept() {
            router.counters.connections += 1
            lastConnection += 1
            let number = lastConnection
            let fault = isDisturbed ? router.handshake(connection: number) : nil
            if fault == .refuse {
                socket.abort()
                continue
            }
            let context = fault == .fail ? failingContext : context
            guard let connection = ServedConnection(socket, number: number, context: context, server: self) else {
                continue
            }
            router.counters.openConnections += 1
            if fault == .stall { connection.stall() }
            try? loop.watch(socket.descriptor, for: .readable, connection)
        }
    }

    private static func router(_ files: SimulatorFiles, origin: String) throws -> ProviderRouter {
        let apnsKey = try SignatureVerifier(files.apnsKey)
        let apns = APNsService(keys: [
            .init(id: files.apnsKeyID, team: SimulatorFiles.team) { apnsKey.verify($1, of: $0) }
        ])
        let accounts = try [files.account, files.secondAccount].map { file in
            let key = try SignatureVerifier(file.key)
            return OAuthService.Account(project: file.project, email: file.email, keyID: file.keyID) {
                key.verify($1, of: $0)
            }
        }
        let browser = files.ownSubscription
        let webPush = WebPushService(
            ownKey: files.vapidKey.publicPoint(), open: { browser?.open($0) }
        ) { point, signed, signature in
            (try? SignatureVerifier(point: point))?.verify(signature, of: signed) ?? false
        }
        return ProviderRouter(
            apns: apns, oauth: OAuthService(accounts: accounts, audience: "\(origin)/token"),
            fcm: FCMService(projects: Set(accounts.map(\.project))), webPush: webPush,
            others: Dictionary(files.others.map { ($0.name, $0.service) }) { first, _ in first })
    }
}

extension SimulatorServer: ConnectionServer {
    func updateTime() { now = SystemClock.wallMicroseconds() / 1_000 &+ clock }

    func clientCertificate(_ shown: Certificate) -> ClientCertificate {
        ClientCertificate(shown, authority: pushAuthority)
    }

    func maxStreams(_ memory: ConnectionMemory) -> UInt32 {
        router.script.isStrict && memory.apns.certificate == nil ? 1 : router.script.maxStreams
    }

    func react(to request: ReceivedRequest, stream: Int32, memory: inout ConnectionMemory) -> Reaction {
        var reaction = router.react(to: request, memory: &memory, now: now)
        if var answer = reaction.answer {
            complete(&answer, of: reaction.provider)
            reaction.answer = answer
        }
        if reaction.provider != .control { log?.add(request, reaction, memory, stream: stream, now: now) }
        return reaction
    }

    func answerLeaves(_ reaction: Reaction) {
        if let answer = reaction.answer { router.answered(reaction.provider, answer) }
    }

    func count(_ change: (inout SimulatorCounters) -> Void) { change(&router.counters) }

    func began(_ connection: ServedConnection) {}

    func received(from connection: ServedConnection) {}

    func willAnswer() { log?.flush() }

    func ended(_ connection: ServedConnection) { router.counters.openConnections -= 1 }
}

/// Hears of new connections.
private final class Acceptor: LoopSource {
    private unowned let server: SimulatorServer
    private let listener: Socket
    private let isDisturbed: Bool

    init(_ server: SimulatorServer, _ listener: Socket, isDisturbed: Bool) {
        self.server = server
        self.listener = listener
        self.isDisturbed = isDisturbed
    }

    func ready(_ readiness: Loop.Readiness) { server.accept(listener, isDisturbed: isDisturbed) }
}
