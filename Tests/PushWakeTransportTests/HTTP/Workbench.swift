// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeSimulator
@testable import PushWakeSystem
@testable import PushWakeTransport

/// A loop, a CA, a server with a script, and pools to it: all in one thread, on loopback.
final class Workbench: ServerScript {
    let loop: Loop
    let authority: CertificateAuthority
    let caFile: String
    private(set) var server: ScriptedServer?
    var connections: [ServedConnection] = []
    var received: [(connection: Int, stream: Int32, path: String)] = []
    /// Connections that have ended.
    var closed = 0
    /// Answers a request, or not; 200 with the path in a header by default.
    var script: (ScriptedRequest, ServedConnection) -> Void = { request, connection in
        connection.respond(
            request.stream, HTTPResponse(status: 200, headers: [.init(name: "x-path", value: request.path)]))
    }
    var onOpened: (ServedConnection) -> Void = { _ in }

    /// Versions of TLS on the wire.
    static let (tls10, tls11, tls12, tls13) = (0x0301, 0x0302, 0x0303, 0x0304)

    init() throws {
        loop = try Loop()
        authority = try CertificateAuthority()
        caFile = try TemporaryFile.make(authority.pem())
    }

    deinit { TemporaryFile.remove(caFile) }

    /// Starts the server on a free port.
    @discardableResult
    func serve(
        hosts: [String] = ["localhost", "127.0.0.1", "::1"], days: Int = 30,
        maxStreams: UInt32 = 1000, protocols: [String] = ["h2", "http/1.1"],
        versions: ClosedRange<Int> = Workbench.tls12...Workbench.tls13, ip: String = "127.0.0.1", port: UInt16 = 0,
        script: (any ServerScript)? = nil
    ) throws -> Self {
        let issued = try authority.issueServer(hosts, days: days)
        let files = try (certificate: TemporaryFile.make(issued.certificatePEM), key: TemporaryFile.make(issued.keyPEM))
        defer {
            TemporaryFile.remove(files.certificate)
            TemporaryFile.remove(files.key)
        }
        let context = try ServerContext(files: files, protocols: protocols, versions: versions)
        let address = try #require(SocketAddress(ip: ip, port: port))
        server = try ScriptedServer(
            loop: loop, listening: address, context: context, maxStreams: maxStreams, script: script ?? self)
        return self
    }

    /// Where the server listens.
    func address() throws -> SocketAddress { try #require(server).address }

    func makePool(
        host: String = "127.0.0.1", port: UInt16? = nil, caFile: String? = nil, identity: TLSIdentity? = nil,
        protocols: [TLSContext.ApplicationProtocol] = [.http2, .http1], resolver: Resolver? = nil,
        configure: (inout HTTPPoolConfiguration) -> Void = { _ in }
    ) throws -> HTTPConnectionPool {
        var configuration = HTTPPoolConfiguration()
        configuration.firstPause = 20
        configure(&configuration)
        let tls = try TLSContext.client(caFile: caFile ?? self.caFile, identity: identity, protocols: protocols)
        let port = try port ?? address().port
        return HTTPConnectionPool(
            origin: HTTPOrigin(host: host, port: port), tls: tls, configuration: configuration, loop: loop,
            resolver: resolver ?? Resolver(loop: loop))
    }

    /// Turns the loop until the condition holds, at most so long.
    func run(seconds: Int64 = 10, until condition: () -> Bool) {
        let end = SystemClock.monotonicMilliseconds() + seconds * 1000
        while !condition(), SystemClock.monotonicMilliseconds() < end { loop.turn(waitingUpTo: 20) }
    }

    /// Sends exchanges and turns the loop until the condition holds; how many milliseconds that took.
    func time(_ pool: HTTPConnectionPool, sending exchanges: [HTTPExchange], until condition: () -> Bool) -> Int64 {
        loop.updateTime()
        let begin = loop.now
        for exchange in exchanges { pool.send(exchange) }
        run(until: condition)
        return loop.now - begin
    }

    /// Sends one request and waits for its end.
    func send(
        _ pool: HTTPConnectionPool, path: String = "/3/device/a", body: String = "{}", within deadline: Int64 = 5000
    ) -> HTTPResult? {
        var result: HTTPResult?
        loop.updateTime()
        pool.send(makeRequest(path, body: body), deadline: loop.now + deadline) { result = $0 }
        run { result != nil }
        return result
    }

    func opened(_ connection: ServedConnection) {
        connections.append(connection)
        onOpened(connection)
    }

    func received(_ request: ScriptedRequest, on connection: ServedConnection) {
        received.append((connection.id, request.stream, request.path))
        script(request, connection)
    }

    func closed(_ connection: ServedConnection) { closed += 1 }
}

func makeRequest(_ path: String, body: String = "{}") -> HTTPRequest {
    var request = HTTPRequest()
    request.append(":method", "POST")
    request.append(":scheme", "https")
    request.append(":authority", "api.push.apple.com")
    request.append(":path", path, neverIndexed: true)
    request.append("apns-topic", "com.example.phone.voip")
    request.body = Array(body.utf8)
    return request
}

extension HTTPResult {
    var response: HTTPResponse? {
        guard case .answered(let response, _) = self else { return nil }
        return response
    }

    var problem: String {
        switch self {
        case .answered: ""
        case .lost(let text), .unanswered(let text), .unreachable(let text), .notAdmitted(let text): text
        case .expired: "expired"
        case .refused(let refusal): "\(refusal)"
        }
    }
}
