// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import PushWakeTransport
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

/// What a message says, in the order of its fields.
typealias MessageFields = KeyValuePairs<EngineProtocol.Tag, any MessageValue>

protocol MessageValue {
    func put(_ tag: EngineProtocol.Tag, into writer: inout MessageWriter)
}

extension String: MessageValue {
    func put(_ tag: EngineProtocol.Tag, into writer: inout MessageWriter) { writer.put(tag, self) }
}

extension Int64: MessageValue {
    func put(_ tag: EngineProtocol.Tag, into writer: inout MessageWriter) { writer.put(tag, self) }
}

extension Int: MessageValue {
    func put(_ tag: EngineProtocol.Tag, into writer: inout MessageWriter) { writer.put(tag, self) }
}

extension [UInt8]: MessageValue {
    func put(_ tag: EngineProtocol.Tag, into writer: inout MessageWriter) { writer.put(tag, self) }
}

extension MessageWriter {
    mutating func put(_ fields: MessageFields) { for (tag, value) in fields { value.put(tag, into: &self) } }

    /// A whole message.
    static func bytes(_ kind: EngineProtocol.Kind, id: UInt32 = 9, _ fields: MessageFields = [:]) -> [UInt8] {
        var writer = MessageWriter()
        writer.begin(kind, id: id)
        writer.put(fields)
        return writer.bytes
    }
}

extension MessageReader {
    static func of(_ kind: EngineProtocol.Kind, _ fields: MessageFields) throws -> MessageReader {
        try #require(MessageReader(MessageWriter.bytes(kind, fields)))
    }

    /// A number that it has; 0 without it.
    subscript(tag: EngineProtocol.Tag) -> Int64 { EngineClient.number(tag, in: self) }
}

/// The engine's end of a connection over a real socket, and what its client hears.
struct ConnectedPeer {
    let peer: SocketPeer
    private let client: LocalSocket

    init() throws {
        let path = "/tmp/pushwake-peer-\(SystemClock.processID())-\(UInt64.random(in: 0...UInt64.max)).sock"
        let listener = try LocalSocket.listen(path: path)
        client = try LocalSocket.connect(path: path)
        peer = SocketPeer(socket: try #require(listener.accept()))
    }

    /// The next message; nil when there is none.
    func hear() -> MessageReader? {
        var buffer = [UInt8](repeating: 0, count: EngineProtocol.longestMessage)
        guard case .message(let count) = client.receive(into: &buffer) else { return nil }
        return MessageReader(Array(buffer[..<count]))
    }
}

extension RequestRunner {
    /// Wakes with a store that answers at once.
    func wake(_ message: WakeMessage) throws -> WakeAnswer {
        var answer: Result<WakeAnswer, StoreError>?
        wake(message) { answer = $0 }
        return try #require(answer).get()
    }
}

/// A core with a store in memory and keys that do not exist: everything but the providers.
final class CoreBench {
    let core: EngineCore
    let store = MemoryStore()
    let loop: Loop
    private let written = Lines()

    /// What was logged as an error.
    var lines: [String] { written.all }

    private final class Lines {
        var all: [String] = []
    }

    init(
        _ values: [String: String] = [:], shared: (any SharedStore)? = nil, mostRequests: Int = 100_000
    ) throws {
        var settings = Settings()
        let keys = [
            "apns_key": "/nonexistent/AuthKey_ABC123DEFG.p8", "apns_team_id": "DEF123GHIJ",
            "fcm_key": "/nonexistent/key.json",
        ]
        for (name, value) in keys.merging(values, uniquingKeysWith: { $1 }) { try settings.set(name, to: value) }
        loop = try Loop()
        let log = EngineLog(threshold: .error) { [written] in written.all.append($1) }
        let delivery = Delivery(settings: settings, loop: loop, log: log)
        _ = delivery.open()
        core = EngineCore(
            settings: settings, store: store, shared: shared, delivery: delivery, log: log, mostRequests: mostRequests)
    }

    /// All pages of an answer, and how many there were.
    func rows(
        _ query: EngineQuery, _ argument: String
    ) throws -> (rows: [[EngineField]], pages: Int) {
        var rows: [[EngineField]] = []
        var cursor = ""
        for page in 1... {
            let reply = try ask(.query, [.query: query.rawValue, .argument: argument, .cursor: cursor])
            try #require(reply.kind == .reply, "\(EngineClient.text(.message, in: reply))")
            rows += EngineClient.rows(of: reply)
            let next = EngineClient.text(.cursor, in: reply)
            if next.isEmpty || next == cursor { return (rows, page) }
            cursor = next
        }
        return (rows, 0)
    }

    /// Sends one message over a real socket and gives the reply.
    func ask(_ kind: EngineProtocol.Kind, _ fields: MessageFields) throws -> MessageReader {
        try ask(kind) { $0.put(fields) }
    }

    func ask(_ kind: EngineProtocol.Kind, _ fill: (inout MessageWriter) -> Void) throws -> MessageReader {
        let connection = try ConnectedPeer()
        var writer = MessageWriter()
        writer.begin(kind, id: 9)
        fill(&writer)
        core.handle(try #require(MessageReader(writer.bytes)), from: connection.peer)
        var heard = connection.hear()
        if heard == nil {
            // A page of a listing is made at the end of a turn.
            loop.turn(waitingUpTo: 0)
            heard = connection.hear()
        }
        let reply = try #require(heard, "there was no reply")
        #expect(reply.id == 9)
        return reply
    }

    @discardableResult
    func register(
        _ contact: String, headers: [(String, String)] = [], callID: String = "a@b", cseq: Int64 = 1,
        expires: String = "3600", kind: EngineProtocol.Kind = .register, aor: String = "bob"
    ) throws -> MessageReader {
        try ask(kind) { writer in
            writer.put(.aor, aor)
            writer.put(.callID, callID)
            writer.put(.cseq, cseq)
            writer.put(.granted, Int64(expires) ?? -1)
            for (name, value) in [("Contact", contact), ("Expires", expires)] + headers {
                writer.put(.headerName, name)
                writer.put(.headerValue, value)
            }
        }
    }

    func currentTokens() -> [String] {
        store.bindings(of: "bob", now: SystemClock.wallSeconds()).map(\.token)
    }
}
