// SPDX-License-Identifier: MIT

internal import CLinux
package import PushWakeSystem

/// A TCP connection with or without TLS: bytes in, bytes out, nothing about HTTP.
///
/// The owner writes any number of times in a turn and calls `flush()` once; several records then go out in one
/// system call.
package final class Channel {
    package enum ReadEnd: Equatable {
        /// All that had come was read.
        case drained
        /// `body` wanted no more; there may be bytes that were not read.
        case stopped
        /// The other end has closed.
        case closed
        case failed(String)
    }

    package enum FlushEnd: Equatable {
        case sent
        /// The kernel's buffer is full: watch for writability.
        case blocked
        case failed(String)
    }

    package let socket: Socket
    private(set) var tls: TLSSession?
    private let loop: Loop
    private var plainOutput: [UInt8] = []
    /// Bytes that the kernel has taken in all.
    private(set) var bytesSent: UInt64 = 0
    /// Bytes that `read` has taken from it in all, before decryption.
    private(set) var bytesReceived: UInt64 = 0

    /// The other end has said that it sends nothing more.
    private var hasPeerClosed = false
    /// After a reset the kernel reports an end too, and what it had not confirmed may have been read.
    private var isReset = false

    package init(socket: Socket, loop: Loop) {
        self.socket = socket
        self.loop = loop
    }

    /// Everything from here on is encrypted.
    func startTLS(_ context: TLSContext, role: TLSSession.Role) throws(TLSError) {
        tls = try TLSSession(context: context, role: role)
    }

    /// The same for a client, which verifies that the certificate is for this name or IP literal.
    package func startTLS(_ context: TLSContext, host: String) throws(TLSError) {
        try startTLS(context, role: .client(host: host))
    }

    /// Bytes that the other end may have read. What its kernel had not confirmed when its FIN or close_notify came, which
    /// confirms all that was there, came after the end: it closes a connection that can give no answer.
    var bytesDelivered: UInt64 {
        hasPeerClosed ? bytesConfirmed : bytesSent
    }

    /// Bytes that the other end's kernel has confirmed.
    var bytesConfirmed: UInt64 { bytesSent &- min(bytesSent, UInt64(max(0, socket.unacknowledged))) }

    /// Where the next written byte lies in the sequence of all bytes for the kernel, or a little before.
    var outputPosition: UInt64 { bytesSent &+ UInt64(pendingCount) }

    package var hasPendingOutput: Bool { pendingCount > 0 }

    private var pendingCount: Int { tls?.output.count ?? plainOutput.count }

    /// Whether `write` takes 16 kB more now; else `flush()` first.
    package var hasRoom: Bool { tls?.hasRoom ?? (plainOutput.count < 65_536) }

    /// Goes on with the handshake, with what has come if anything; call `flush()` after it.
    package func handshake() -> TLSStep {
        guard let tls else { return .complete }
        let buffer = loop.receiveBuffer
        switch socket.receive(into: buffer) {
        case .bytes(let count):
            tls.beginInput(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            let step = tls.handshake()
            guard step == .complete else {
                tls.endInput()
                return step
            }
            return .complete
        case .wouldBlock: return tls.handshake()
        case .closed: return .failed("connection closed during the TLS handshake")
        case .failed(let code): return .failed(String(cString: strerror(code)))
        }
    }

    /// Reads what has come, at most about `limit` bytes, in pieces of at most 16 kB valid during the call of `body`.
    ///
    /// `body` returns false to stop reading for good.
    package func read(limit: Int = 1 << 20, _ body: (UnsafeRawBufferPointer) -> Bool) -> ReadEnd {
        var total = 0
        let buffer = loop.receiveBuffer
        // Bytes that came along with the end of the handshake are still lent.
        if let tls, tls.hasInput, let end = decrypt(tls, body) { return end }
        while total < limit {
            switch socket.receive(into: buffer) {
            case .bytes(let count):
                total += count
                bytesReceived &+= UInt64(count)
                let received = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                if let tls {
                    tls.beginInput(received)
                    if let end = decrypt(tls, body) { return end }
                } else if !body(received) {
                    return .stopped
                }
                if count < buffer.count { return .drained }
            case .wouldBlock: return .drained
            case .closed:
                hasPeerClosed = !isReset
                return .closed
            case .failed(let code):
                isReset = true
                return .failed(String(cString: strerror(code)))
            }
        }
        return .drained
    }

    /// Nil: all decrypted, read on.
    private func decrypt(_ tls: TLSSession, _ body: (UnsafeRawBufferPointer) -> Bool) -> ReadEnd? {
        defer { tls.endInput() }
        while true {
            var count = 0
            switch tls.read(into: loop.recordBuffer, count: &count) {
            case .complete:
                if !body(UnsafeRawBufferPointer(rebasing: loop.recordBuffer[..<count])) { return .stopped }
                if tls.isReadOut { return nil }
            case .incomplete:
                guard tls.isPeerDone else { return nil }
                hasPeerClosed = true
                return .closed
            case .failed(let text): return .failed(text)
            }
        }
    }

    /// Takes up to 16 kB for sending; false when it failed. Check `hasRoom` first.
    package func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let tls else {
            plainOutput.append(contentsOf: bytes)
            return true
        }
        return tls.write(bytes) == .complete
    }

    /// Hands what was written to the kernel.
    package func flush() -> FlushEnd {
        while pendingCount > 0 {
            let transfer =
                if let tls { socket.send(tls.output) } else { plainOutput.withUnsafeBytes { socket.send($0) } }
            switch transfer {
            case .bytes(let count):
                bytesSent &+= UInt64(count)
                if let tls { tls.removeOutput(count) } else { plainOutput.removeFirst(count) }
            case .wouldBlock: return .blocked
            case .closed: return .failed("connection closed")
            case .failed(let code):
                // EPIPE is the answer to what came after an end; any other failure has none before it.
                if code != EPIPE { isReset = true }
                return .failed(String(cString: strerror(code)))
            }
        }
        return .sent
    }

    /// Sends close_notify and FIN and leaves the other direction open; false when the connection is lost.
    func finish() -> Bool {
        tls?.shutDown()
        if case .failed = flush() { return false }
        return shutdown(socket.descriptor, Int32(SHUT_WR)) == 0
    }

    /// Closes with close_notify and FIN, or with RST. Unwatch first.
    package func close(aborting: Bool) {
        if aborting {
            socket.abort()
        } else {
            if let tls, !hasPendingOutput {
                tls.shutDown()
                _ = flush()
            }
            socket.close()
        }
    }
}
