// SPDX-License-Identifier: MIT

import PushWakeCore

@testable import PushWakeSimulator
@testable import PushWakeSystem
@testable import PushWakeTransport

/// A request that waits for what a script does about it.
struct ScriptedRequest {
    /// Names the request on its connection, for the answer.
    let stream: Int32
    let received: ReceivedRequest

    var path: String { received.text(.path) ?? "" }
    var body: [UInt8] { received.body }

    /// First value under a lower-case name.
    subscript(name: String) -> String? { received.headers.first { $0.name == name }?.value }
}

/// What a script does with connections and requests. All calls come on the loop's thread.
protocol ServerScript: AnyObject {
    /// A client has connected and has completed the handshake.
    func opened(_ connection: ServedConnection)
    /// A whole request has come: answer it with `respond`, now or later, or never.
    func received(_ request: ScriptedRequest, on connection: ServedConnection)
    /// The connection is over.
    func closed(_ connection: ServedConnection)
}

/// The simulator's connections on a loop of the test's own, with a script in place of push services.
///
/// The script sees requests when all that came was read: it may do to the connection what a callback of nghttp2 must not.
final class ScriptedServer: LoopSource, ConnectionServer {
    /// Where it listens, with the real port.
    let address: SocketAddress
    let loop: Loop
    let receiveBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 16)
    private let context: ServerContext
    private let maxStreams: UInt32
    private weak var script: (any ServerScript)?
    private let socket: Socket
    private var connections: [Int: ServedConnection] = [:]
    private var lastID = 0
    private var waiting: [ScriptedRequest] = []

    /// Listens at once.
    init(
        loop: Loop, listening address: SocketAddress, context: ServerContext, maxStreams: UInt32,
        script: any ServerScript
    ) throws(SystemError) {
        self.loop = loop
        self.context = context
        self.maxStreams = maxStreams
        self.script = script
        socket = try Socket.listen(on: address)
        self.address = socket.localAddress
        try loop.watch(socket.descriptor, for: .readable, self)
    }

    deinit { receiveBuffer.deallocate() }

    /// Stops listening and closes all connections.
    func close() {
        loop.unwatch(socket.descriptor)
        socket.close()
        for connection in connections.values { connection.close() }
    }

    func ready(_ readiness: Loop.Readiness) {
        while let (accepted, _) = socket.accept() {
            lastID += 1
            guard let connection = ServedConnection(accepted, number: lastID, context: context, server: self) else {
                continue
            }
            connections[lastID] = connection
            try? loop.watch(accepted.descriptor, for: .readable, connection)
        }
    }

    // MARK: For connections

    func maxStreams(_ memory: ConnectionMemory) -> UInt32 { maxStreams }

    func react(to request: ReceivedRequest, stream: Int32, memory: inout ConnectionMemory) -> Reaction {
        waiting.append(ScriptedRequest(stream: stream, received: request))
        return Reaction(answer: nil)
    }

    func began(_ connection: ServedConnection) { script?.opened(connection) }

    func received(from connection: ServedConnection) {
        let requests = waiting
        waiting = []
        for request in requests where !connection.isClosed { script?.received(request, on: connection) }
    }

    func ended(_ connection: ServedConnection) {
        connections[connection.id] = nil
        script?.closed(connection)
    }

    func clientCertificate(_ shown: Certificate) -> ClientCertificate { ClientCertificate(topics: []) }
    func updateTime() {}
    func answerLeaves(_ reaction: Reaction) {}
    func count(_ change: (inout SimulatorCounters) -> Void) {}
    func willAnswer() {}
}

/// The simulator's faults under the words of the tests.
extension ServedConnection {
    /// Counts from 1 per server.
    var id: Int { memory.number }

    func respond(_ stream: Int32, _ response: HTTPResponse) {
        let headers = response.headers.map { ProviderAnswer.Header($0.name, $0.value) }
        answer(stream, ProviderAnswer(status: response.status, headers: headers, body: response.body))
    }

    /// Sends GOAWAY; streams above `lastStream` get no answer.
    func goAway(debugData: String = "", lastStream: Int32) {
        perform(.goAway(code: 0, debug: debugData, last: .stream(lastStream)))
    }

    /// Sends RST_STREAM with a code of RFC 9113, 7; 7 refuses the stream as not processed.
    func reset(_ stream: Int32, code: UInt32) { perform(.reset(code: code), stream: stream) }

    func setMaxConcurrentStreams(_ limit: UInt32) { perform(.settings([.init(id: 3, value: limit)])) }

    /// Reads nothing more: the client's output backs up.
    func pauseReading() { perform(.pauseReading(3_600_000)) }

    /// Sends what waits, then closes with FIN.
    func close() { perform(.close(isAbrupt: false)) }

    /// Sends what waits and fits, then closes with RST.
    func abort() { perform(.close(isAbrupt: true)) }
}
