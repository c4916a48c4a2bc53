// SPDX-License-Identifier: MIT

public import PushWakeCore
internal import PushWakeSystem

/// One connection to the engine, used by one thread at a time, that never waits longer than
/// `engine_timeout`, and for an engine that hangs not more than once in a second.
///
/// A SIP server makes it before it forks. The descriptor must not be shared between processes, so
/// each process opens its own at the first call: `processID` of the caller tells them apart.
public final class EngineClient {
    private let path: String
    private let timeout: Int64
    private var link = EngineLink()
    /// Where the connection comes from for each question; nil: it is this client's own.
    private let links: EngineLinks?
    private var writer = MessageWriter()
    private var lastID: UInt32 = 0
    private var circuit = EngineCircuit()
    private let users: BindingFilterReader

    /// Takes path and timeout from the settings; connects at the first call. With `links` each thread of a process has a
    /// client, and all of them share the connections.
    public init(settings: Settings, links: EngineLinks? = nil) {
        self.links = links
        path = settings.text(.engineSocket)
        users = BindingFilterReader(path: BindingFilterFile.path(besides: path))
        timeout = settings.integer(.engineTimeout)
    }

    /// Begins the next request; `put` its fields, then `call`, or `post` where nobody `waits` for a reply.
    public func begin(_ kind: EngineProtocol.Kind, waits: Bool = true) {
        lastID = links?.nextID() ?? (lastID &+ 1)
        writer.begin(kind, id: lastID)
        // First of all: who asks whether the sender still waits need not read the rest. `call` knows the numbers.
        guard waits else { return }
        writer.put(.sentAt, 0)
        writer.put(.senderTimeout, Int64.max)
    }

    /// Adds a field of raw bytes.
    public func put(_ tag: EngineProtocol.Tag, _ value: Span<UInt8>) { writer.put(tag, value) }
    /// Adds a field of text.
    public func put(_ tag: EngineProtocol.Tag, _ value: String) { writer.put(tag, value) }
    /// Adds a number.
    public func put(_ tag: EngineProtocol.Tag, _ value: Int64) { writer.put(tag, value) }

    /// Sends the request and waits for its reply: at most `engine_timeout`, and not at all while the engine is known
    /// to hang. `milliseconds` is the time limit of a caller that may wait, whatever is known: a shell, a supervisor.
    public func call(milliseconds: Int64? = nil) throws(ClientError) -> MessageReader {
        let now = SystemClock.monotonicMilliseconds()
        let limit = milliseconds ?? timeout
        writer.replaceNumber(at: 0, with: now)
        writer.replaceNumber(at: 1, with: limit)
        guard !writer.isOverfull else { throw .tooLarge }
        if let links { (link, circuit) = links.take() }
        let before = circuit
        defer { giveBack(before) }
        guard milliseconds != nil || mayWait(now) else { throw .timeout }
        do throws(ClientError) {
            try send()
            return try reply(until: now &+ limit)
        } catch {
            if error == .timeout && milliseconds == nil { circuit.timedOut(now: SystemClock.monotonicMilliseconds()) }
            throw error
        }
    }

    /// Sends the request, which has no reply. An engine that does not read loses it.
    public func post() throws(ClientError) {
        guard !writer.isOverfull else { throw .tooLarge }
        links?.takeLine(&link)
        defer { links?.giveLine(&link) }
        try send()
    }

    /// Sends a whole message over the connection that is open, without waiting; false: there is none, or the engine does not read.
    func postOn(_ message: [UInt8]) -> Bool {
        guard let socket = link.socket, link.owner == SystemClock.processID() else { return false }
        return socket.send(message) == .done
    }

    /// The connection is the next question's; what was learned of the engine counts for all threads.
    private func giveBack(_ before: EngineCircuit) {
        guard let links else { return }
        links.give(link, circuit == before ? nil : circuit)
        link = EngineLink()
    }

    /// The next message of a connection that follows events; nil when there is none yet.
    public func nextEvent() throws(ClientError) -> MessageReader? {
        guard let socket = link.socket else { throw .unavailable("the engine closed the connection") }
        switch socket.receive(into: &link.buffer) {
        case .wouldBlock: return nil
        case .closed:
            disconnect()
            throw .unavailable("the engine closed the connection")
        case .message(let count): return MessageReader(Array(link.buffer[..<count]))
        }
    }

    /// The descriptor to poll for events, or -1.
    public var descriptor: Int32 { link.socket?.descriptor ?? -1 }

    /// Whether a user may have push bindings: false only for one who has none. Asks nobody and never waits. A name that is
    /// no UTF-8 has none: mended, it would be the name of others too.
    public func mayHaveBindings(_ aor: Span<UInt8>) -> Bool { aor.isText && mayHold(aor) }

    /// Whether the engine need not be asked about a user: the name is UTF-8 and certainly has no bindings. For a name that
    /// is not UTF-8 both answers are false.
    public func lacksBindings(_ aor: Span<UInt8>) -> Bool { aor.isText && !mayHold(aor) }

    private func mayHold(_ aor: Span<UInt8>) -> Bool { users.mayHold(aor, now: SystemClock.coarseMilliseconds()) }

    /// Closes the connection; the next call opens another.
    public func disconnect() { link.socket = nil }

    /// First text under a tag, or empty.
    public static func text(_ tag: EngineProtocol.Tag, in message: MessageReader) -> String {
        message.first(tag).map { message.text($0) } ?? ""
    }

    /// First number under a tag, or 0.
    public static func number(_ tag: EngineProtocol.Tag, in message: MessageReader) -> Int64 {
        message.first(tag).map { message.number($0) } ?? 0
    }

    private func mayWait(_ now: Int64) -> Bool {
        if circuit.isOpen { drain() }
        return circuit.admits(now: now)
    }

    /// Takes replies that came when nobody waited for them any more.
    private func drain() {
        guard let socket = link.socket, link.owner == SystemClock.processID() else { return }
        makeBuffer()
        while true {
            switch socket.receive(into: &link.buffer) {
            case .message: circuit.close()
            case .wouldBlock: return
            case .closed:
                disconnect()
                return circuit.close()
            }
        }
    }

    private func makeBuffer() {
        if link.buffer.isEmpty { link.buffer = Array(repeating: 0, count: EngineProtocol.longestMessage) }
    }

    private func reply(until deadline: Int64) throws(ClientError) -> MessageReader {
        while true {
            let message = try receive(until: deadline)
            circuit.close()
            guard message.id == lastID else { continue }
            if message.kind == .failure { throw ClientError(message) }
            if message.kind == .reply { return message }
        }
    }

    private func send() throws(ClientError) {
        let me = SystemClock.processID()
        if link.owner != me {
            // Inherited over fork(): closing the copy does not touch the parent's connection.
            link.socket = nil
            link.owner = me
        }
        let isFresh = link.socket == nil
        let connection = try open()
        switch connection.send(writer.bytes) {
        case .done: return
        case .wouldBlock: throw .timeout
        case .closed:
            disconnect()
            // The engine was restarted since the last call: its socket has a new listener.
            guard !isFresh else { throw .unavailable("the engine closed the connection") }
            guard try open().send(writer.bytes) == .done else {
                disconnect()
                throw .unavailable("the engine closed the connection")
            }
        }
    }

    private func open() throws(ClientError) -> LocalSocket {
        if let socket = link.socket { return socket }
        do throws(LocalSocket.Failure) {
            let opened = try LocalSocket.connect(path: path)
            link.socket = opened
            return opened
        } catch {
            throw .unavailable(error.message)
        }
    }

    private func receive(until deadline: Int64) throws(ClientError) -> MessageReader {
        guard let socket = link.socket else { throw .unavailable("the engine closed the connection") }
        makeBuffer()
        var left = deadline &- SystemClock.monotonicMilliseconds()
        while true {
            // Asked before there is an answer, the socket would only be asked again.
            _ = socket.waitReadable(milliseconds: Int32(clamping: max(0, left)))
            switch socket.receive(into: &link.buffer) {
            case .message(let count):
                guard let message = MessageReader(Array(link.buffer[..<count])) else {
                    disconnect()
                    throw .unavailable("the engine speaks another version of the protocol; install both of one release")
                }
                return message
            case .closed:
                disconnect()
                throw .unavailable("the engine closed the connection")
            case .wouldBlock:
                left = deadline &- SystemClock.monotonicMilliseconds()
                guard left > 0 else { throw .timeout }
            }
        }
    }
}

/// Keeps a SIP worker from waiting for an engine that hangs: after a timeout nothing is asked for a second.
///
///     closed --timeout--> open --(a second)--> one request tries --answer--> closed
///                          ^                                   |
///                          +--------------timeout--------------+
///
/// Without it a stopped engine costs `engine_timeout` for each request, and the workers of a PBX are few.
/// Any message from the engine closes it, also a reply that comes too late. Times are monotonic milliseconds.
public struct EngineCircuit: Equatable, Sendable {
    /// Milliseconds between two requests that try.
    public static let pause: Int64 = 1000

    private var nextTry: Int64?

    /// Begins closed.
    public init() {}

    /// The last request that was waited for had no answer.
    public var isOpen: Bool { nextTry != nil }

    /// Whether a request may be sent and waited for at `now`.
    public func admits(now: Int64) -> Bool { nextTry.map { now >= $0 } ?? true }

    /// A request was waited for in vain until `now`.
    public mutating func timedOut(now: Int64) {
        let (time, overflow) = now.addingReportingOverflow(Self.pause)
        nextTry = overflow ? .max : time
    }

    /// The engine has said something, or its connection has ended: what hung is no more.
    public mutating func close() { nextTry = nil }
}

/// Why the engine gave no answer.
public enum ClientError: Error, Equatable, Sendable {
    /// Nobody listens on the socket, or the connection broke.
    case unavailable(String)
    case timeout
    case tooLarge
    /// The engine said no, and why.
    case refused(String)
    /// The engine does not know whom the request was about.
    case notFound(String)

    /// What a `failure` of the engine says.
    init(_ failure: MessageReader) {
        let text = EngineClient.text(.message, in: failure)
        self = EngineClient.number(.missing, in: failure) != 0 ? .notFound(text) : .refused(text)
    }
}

/// Keeps a log from filling up while no engine answers: a line in ten seconds, with the number of those left out.
public struct EngineWarning: Equatable, Sendable {
    private var lines = LineBudget(most: 1, period: 10_000)

    /// Has said nothing yet.
    public init() {}

    /// The line for a request that went on without an engine at `now` (monotonic milliseconds); nil when one was said
    /// just before.
    public mutating func line(_ text: String, now: Int64) -> String? {
        guard case .write(let leftOut) = lines.admit(now: now) else { return nil }
        return leftOut > 0 ? text + " (\(leftOut) more since the last such line)" : text
    }
}
