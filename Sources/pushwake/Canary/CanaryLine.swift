// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCanary
import PushWakeCore
import PushWakeSystem

/// Carries one canary's call over UDP or TCP, on a loop of its own.
final class CanaryLine: LoopSource {
    /// Why no call could be made at all.
    struct Failure: Error {
        let message: String
    }

    private enum Wire {
        case datagrams(DatagramSocket)
        case stream(Socket)
    }

    private let loop: Loop
    private let wire: Wire
    private var call: CanaryCall
    private var stream = SIPStream()
    private var timer: Loop.TimerID?
    private var result: CanaryResult?

    /// Finds the PBX and connects to it within `plan.timeout`; `plan.localAddress` is filled in here.
    init(_ plan: CanaryPlan, host: String, port: UInt16) throws {
        loop = try Loop()
        let loop = loop
        var found: Result<Wire, Failure>?
        let resolver = Resolver(loop: loop, threadLimit: 1)
        var connector: Connector?
        resolver.resolve(host, port: port) { answer in
            switch (answer, plan.transport) {
            case (.failed(let text), _): found = .failure(Failure(message: text))
            case (.addresses(let addresses), .udp):
                found = Self.open(addresses)
            case (.addresses(let addresses), .tcp):
                connector = Connector(loop: loop, addresses: addresses) { connected in
                    found =
                        switch connected {
                        case .success(let socket): .success(.stream(socket))
                        case .failure(let error): .failure(Failure(message: error.description))
                        }
                }
            }
        }
        let end = loop.now + plan.timeout
        while found == nil, loop.now < end { loop.turn(waitingUpTo: 100) }
        connector?.cancel()
        wire = try (found ?? .failure(Failure(message: "no connection to \(host) within \(plan.timeout) ms"))).get()
        var plan = plan
        switch wire {
        case .datagrams(let socket): plan.localAddress = socket.localAddress.description
        case .stream(let socket): plan.localAddress = socket.localAddress.description
        }
        call = CanaryCall(plan, now: loop.now)
    }

    private static func open(_ addresses: [SocketAddress]) -> Result<Wire, Failure> {
        var failure = "there is no address"
        for address in addresses {
            do throws(SystemError) {
                return .success(.datagrams(try DatagramSocket(to: address)))
            } catch {
                failure = error.description
            }
        }
        return .failure(Failure(message: failure))
    }

    /// Plays the call to its end, or takes it back when that is enough: asked some times a second.
    func run(until isEnough: () -> Bool) throws -> CanaryResult {
        try loop.watch(descriptor, for: .readable, self)
        loop.updateTime()
        take(call.start(now: loop.now))
        while result == nil {
            loop.turn(waitingUpTo: 200)
            if result == nil, isEnough() {
                loop.updateTime()
                take(call.hangUp(now: loop.now))
            }
        }
        if let timer { loop.cancel(timer) }
        loop.unwatch(descriptor)
        return result ?? CanaryResult(isGood: false, status: 0, text: "the call did not end")
    }

    private var descriptor: Int32 {
        switch wire {
        case .datagrams(let socket): socket.descriptor
        case .stream(let socket): socket.descriptor
        }
    }

    func ready(_ readiness: Loop.Readiness) {
        while result == nil {
            let buffer = loop.receiveBuffer
            let transfer =
                switch wire {
                case .datagrams(let socket): socket.receive(into: buffer)
                case .stream(let socket): socket.receive(into: buffer)
                }
            switch transfer {
            case .bytes(let count):
                receive(Array(UnsafeRawBufferPointer(rebasing: buffer[..<count])))
            case .wouldBlock: return
            case .closed: return fail("the PBX closed the connection")
            case .failed(let code): return fail("the PBX cannot be reached: \(String(cString: strerror(code)))")
            }
        }
    }

    private func receive(_ bytes: [UInt8]) {
        if isDatagram { return take(call.received(bytes, now: loop.now)) }
        guard let messages = stream.feed(bytes) else { return fail("the PBX sent something that is not SIP") }
        for message in messages { take(call.received(message, now: loop.now)) }
    }

    private func take(_ actions: [CanaryAction]) {
        for action in actions {
            switch action {
            case .send(let bytes): send(bytes)
            case .finish(let end): result = result ?? end
            }
        }
        if let timer { loop.cancel(timer) }
        timer = nil
        guard result == nil, let deadline = call.deadline else { return }
        timer = loop.schedule(at: deadline) { [weak self] in
            guard let self else { return }
            timer = nil
            take(call.tick(now: loop.now))
        }
    }

    private func send(_ bytes: [UInt8]) {
        let transfer =
            switch wire {
            case .datagrams(let socket): socket.send(bytes)
            case .stream(let socket): bytes.withUnsafeBytes { socket.send($0) }
            }
        switch transfer {
        case .bytes(bytes.count): break
        // UDP repeats what is lost.
        case .wouldBlock where isDatagram: break
        case .failed(let code): fail("the PBX cannot be reached: \(String(cString: strerror(code)))")
        case .bytes, .wouldBlock, .closed: fail("the PBX reads nothing")
        }
    }

    private var isDatagram: Bool {
        if case .datagrams = wire { true } else { false }
    }

    private func fail(_ text: String) {
        result = result ?? CanaryResult(isGood: false, status: 0, text: text)
    }
}
