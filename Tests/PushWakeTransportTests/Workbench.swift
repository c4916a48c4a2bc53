// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeSystem
@testable import PushWakeTransport

/// A loop, a CA, a server with a script, and pools to it: all in one thread, on loopback.
final class Workbench: HTTPServerHandler {
    let loop: Loop
    let authority: CertificateAuthority
    let caFile: String
    private(set) var server: HTTPServer?
    var connections: [HTTPServerConnection] = []
    var received: [(connection: Int, stream: Int32, path: String)] = []
    var closeReasons: [String] = []
    /// Answers a request, or not; 200 with the path in a header by default.
    var script: (HTTPServerRequest, HTTPServerConnection) -> Void = { request, connection in
        connection.respond(
            request.stream, HTTPResponse(status: 200, headers: [.init(name: "x-path", value: request.path)]))
    }
    var onOpened: (HTTPServerConnection) -> Void = { _ in }

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
        limits: HTTPServerLimits = HTTPServerLimits(), protocols: [TLSContext.ApplicationProtocol] = [.http2, .http1],
        from minimum: TLSContext.Version = .tls12, to maximum: TLSContext.Version = .tls13, port: UInt16 = 0
    ) throws -> HTTPServer {
        let issued = try authority.issueServer(hosts, days: days)
        let tls = try TLSContext.server(
            identity: issued.identity, protocols: protocols, from: minimum, to: maximum)
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: port))
        let server = try HTTPServer(loop: loop, listening: address, tls: tls, limits: limits, handler: self)
        self.server = server
        return server
    }

    func makePool(
        host: String = "127.0.0.1", port: UInt16? = nil, caFile: String? = nil, identity: TLSIdentity? = nil,
        protocols: [TLSContext.ApplicationProtocol] = [.http2, .http1], resolver: Resolver? = nil,
        configure: (inout HTTPPoolConfiguration) -> Void = { _ in }
    ) throws -> HTTPConnectionPool {
        var configuration = HTTPPoolConfiguration()
        configuration.firstPause = 20
        configure(&configuration)
        let tls = try TLSContext.client(caFile: caFile ?? self.caFile, identity: identity, protocols: protocols)
        let port = try port ?? #require(server).address.port
        return HTTPConnectionPool(
            origin: HTTPOrigin(host: host, port: port), tls: tls, configuration: configuration, loop: loop,
            resolver: resolver ?? Resolver(loop: loop))
    }

    /// Turns the loop until the condition holds, at most so long.
    func run(seconds: Int64 = 10, until condition: () -> Bool) {
        let end = SystemClock.monotonicMilliseconds() + seconds * 1000
        while !condition(), SystemClock.monotonicMilliseconds() < end { loop.turn(waitingUpTo: 20) }
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

    func opened(_ connection: HTTPServerConnection) {
        connections.append(connection)
        onOpened(connection)
    }

    func received(_ request: HTTPServerRequest, on connection: HTTPServerConnection) {
        received.append((connection.id, request.stream, request.path))
        script(request, connection)
    }

    func closed(_ connection: HTTPServerConnection, reason: String) { closeReasons.append(reason) }
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
        case .lost(let text), .unreachable(let text), .notAdmitted(let text): text
        case .expired: "expired"
        case .refused(let refusal): "\(refusal)"
        }
    }
}
