// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore

/// Questions to the engine from within it, in the language of shell and PBX.
struct EngineQuestions {
    private let core: EngineCore

    init(to core: EngineCore) { self.core = core }

    /// What came back.
    enum Reply {
        case answer(MessageReader)
        /// What is wrong, and the status that says it: 404 for what is not there, 503 while the store cannot be asked, 422 for
        /// what cannot be done.
        case failure(String, status: Int)

        init?(_ message: MessageReader) {
            switch message.kind {
            case .reply: self = .answer(message)
            case .failure:
                let isMissing = EngineClient.number(.missing, in: message) != 0
                let isStoreAway = EngineClient.number(.storeAway, in: message) != 0
                self = .failure(
                    EngineClient.text(.message, in: message), status: isMissing ? 404 : isStoreAway ? 503 : 422)
            default: return nil
            }
        }

        /// For HTTP.
        var problem: ServedAnswer? {
            guard case .failure(let text, let status) = self else { return nil }
            return .problem(status, text)
        }
    }

    /// Asks, and hands over the one reply that comes, now or later.
    func ask(
        _ kind: EngineProtocol.Kind, _ fill: (inout MessageWriter) -> Void, _ done: @escaping (Reply) -> Void
    ) {
        let peer = InnerPeer { message in
            if let reply = Reply(message) { done(reply) }
        }
        send(kind, from: peer, fill)
    }

    /// Asks for the rows of a query, from `cursor` on.
    func ask(_ query: EngineQuery, _ argument: String, cursor: String, _ done: @escaping (Reply) -> Void) {
        ask(
            .query,
            { writer in
                writer.put(.query, query.rawValue)
                writer.put(.argument, argument)
                writer.put(.cursor, cursor)
            }, done)
    }

    /// Sends a message whose answers go to `peer`.
    func send(_ kind: EngineProtocol.Kind, from peer: EnginePeer, _ fill: (inout MessageWriter) -> Void) {
        var writer = MessageWriter()
        writer.begin(kind, id: 1)
        fill(&writer)
        guard !writer.isOverfull, let message = MessageReader(writer.bytes) else {
            writer.begin(.failure, id: 1)
            writer.put(.message, "the request is longer than one message")
            return peer.send(writer.bytes)
        }
        core.handle(message, from: peer)
    }

    /// Writes rows of an answer as JSON objects, -1 as null: that is how the engine says what it does not know.
    static func write(_ rows: [[EngineField]], _ writer: inout JSONWriter) {
        writer.array { writer in
            for row in rows {
                writer.object { writer in
                    for field in row {
                        writer.name(field.name)
                        if let text = field.text {
                            writer.string(text)
                        } else if field.number == -1 {
                            writer.null()
                        } else {
                            writer.integer(field.number)
                        }
                    }
                }
            }
        }
    }
}
