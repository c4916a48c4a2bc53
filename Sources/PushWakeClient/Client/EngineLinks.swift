// SPDX-License-Identifier: MIT

internal import PushWakeSystem

/// A connection to the engine, and room for what comes over it.
struct EngineLink {
    var socket: LocalSocket?
    /// The process that opened it.
    var owner: Int32 = 0
    var buffer: [UInt8] = []
}

/// Connections that the clients of all threads of a process share.
///
/// A question has a connection to itself until it is answered, so that none waits for another's answer; afterwards it is
/// the next one's. What has no answer goes over a line of its own, one message after the other: the engine hears it in
/// the order in which it was said.
public final class EngineLinks {
    /// As many idle connections are kept; more are made when needed.
    private static let most = 16

    private let lock = Lock()
    private var idle: [EngineLink] = []
    private var circuit = EngineCircuit()
    private var lastID: UInt32 = 0
    private var isClosed = false
    private let lineLock = Lock()
    private var line = EngineLink()

    /// Opens nothing.
    public init() {}

    /// Ends the connections; those that are in use end with their questions.
    public func close() {
        lock.lock()
        isClosed = true
        idle = []
        lock.unlock()
        lineLock.lock()
        line = EngineLink()
        lineLock.unlock()
    }

    /// A number that no other message of these connections has: a late reply is not taken for that to another question.
    func nextID() -> UInt32 {
        lock.lock()
        defer { lock.unlock() }
        lastID &+= 1
        return lastID
    }

    /// A connection, and whether the engine is known to hang.
    func take() -> (EngineLink, EngineCircuit) {
        lock.lock()
        defer { lock.unlock() }
        return (idle.popLast() ?? EngineLink(), circuit)
    }

    /// Gives a connection back with what was learned of the engine; nil when that was nothing.
    func give(_ link: EngineLink, _ learned: EngineCircuit?) {
        lock.lock()
        defer { lock.unlock() }
        if let learned { circuit = learned }
        if link.socket != nil, !isClosed, idle.count < Self.most { idle.append(link) }
    }

    /// Puts the line in the place of `link` until `giveLine`; others wait.
    func takeLine(_ link: inout EngineLink) {
        lineLock.lock()
        swap(&line, &link)
    }

    /// Puts the line back.
    func giveLine(_ link: inout EngineLink) {
        swap(&line, &link)
        lineLock.unlock()
    }
}
