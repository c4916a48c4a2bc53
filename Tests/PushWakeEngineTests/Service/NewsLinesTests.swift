// SPDX-License-Identifier: MIT

import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

@Suite struct `The pace of news` {
    private static let pause = NewsPace.pause

    @Test func `leaves single news to wake the engine`() {
        var pace = NewsPace()
        for now in stride(from: Int64(0), to: 100, by: 1) {
            let change = pace.looked(hasFound: now == 0 || now == 50, now: now)
            #expect(change == nil)
        }
    }

    @Test func `lets news wait while there is much of it, never longer than a pause`() {
        var pace = NewsPace()
        _ = pace.looked(hasFound: true, now: 100)
        let first = pace.looked(hasFound: true, now: 105)
        #expect(first == .leave(until: 105 + Self.pause, isFirst: true))
        // Whoever looks for another reason puts the next look off.
        let next = [110, 113].map { pace.looked(hasFound: $0 == 110, now: $0) }
        #expect(next == [110, 113].map { .leave(until: $0 + Self.pause, isFirst: false) })
    }

    @Test func `has news wake the engine again after a pause without any`() {
        var pace = NewsPace()
        _ = pace.looked(hasFound: true, now: 100)
        _ = pace.looked(hasFound: true, now: 100)
        let quiet = [100 + Self.pause, 101 + Self.pause].map { pace.looked(hasFound: false, now: $0) }
        #expect(quiet == [.leave(until: 100 + 2 * Self.pause, isFirst: false), .watch])
        let single = pace.looked(hasFound: true, now: 200)
        #expect(single == nil)
    }
}

@Suite struct `Lines of news` {
    /// A loop with lines, and what comes over them: the legs that messages name.
    private final class Bench {
        let loop: Loop
        let lines: NewsLines
        private(set) var ended = 0
        private(set) var legs: [Int64] = []
        private let path = "/tmp/pushwake-news-\(SystemClock.processID())-\(UInt64.random(in: 0...UInt64.max)).sock"
        private let listener: LocalSocket

        init() throws {
            loop = try Loop()
            listener = try LocalSocket.listen(path: path)
            nonisolated(unsafe) weak var bench: Bench?
            lines = NewsLines(loop: loop) { message, _ in bench?.legs.append(EngineClient.number(.leg, in: message)) }
            bench = self
            lines.onEnd = { _ in bench?.ended += 1 }
        }

        func line() throws -> LocalSocket {
            let host = try LocalSocket.connect(path: path)
            try lines.add(SocketPeer(socket: try #require(listener.accept())))
            return host
        }

        /// Turns until so many messages have been handled.
        func turn(until count: Int) {
            for _ in 0..<100 where legs.count < count { loop.turn(waitingUpTo: 100) }
        }
    }

    private func message(_ leg: Int64, begunAt: Int64?) -> [UInt8] {
        var writer = MessageWriter()
        writer.begin(.progressed, id: 0)
        if let begunAt { writer.put(.begunAt, begunAt) }
        writer.put(.leg, leg)
        return writer.bytes
    }

    @Test func `are read in the order in which hosts spoke, whoever it was`() throws {
        let bench = try Bench()
        let (first, second) = (try bench.line(), try bench.line())
        _ = first.send(message(1, begunAt: 100))
        _ = second.send(message(2, begunAt: 101))
        _ = second.send(message(4, begunAt: 103))
        _ = first.send(message(3, begunAt: 102))
        _ = first.send(message(5, begunAt: 103))
        bench.turn(until: 5)
        #expect(Set(bench.legs[3...]) == [4, 5] && Array(bench.legs[..<3]) == [1, 2, 3])
    }

    @Test func `wake a loop that waits, and when there are many, wait for its next turn`() throws {
        let bench = try Bench()
        let line = try bench.line()
        for leg in 1...2 {
            _ = line.send(message(Int64(leg), begunAt: nil))
            bench.loop.turn(waitingUpTo: 10_000)
            #expect(bench.legs.count == leg)
        }
        // Left alone now: the loop turns for its timer, and finds it all.
        let begin = SystemClock.monotonicMilliseconds()
        _ = line.send(message(3, begunAt: nil))
        _ = line.send(message(4, begunAt: nil))
        bench.loop.turn(waitingUpTo: 10_000)
        #expect(bench.legs == [1, 2, 3, 4])
        #expect(SystemClock.monotonicMilliseconds() - begin < 5000)
        // Nothing comes for a while: the next wakes it at once, and not its timer, of which there is none.
        for _ in 0..<10 { bench.loop.turn(waitingUpTo: 2 * NewsPace.pause) }
        _ = line.send(message(5, begunAt: nil))
        bench.loop.turn(waitingUpTo: 10_000)
        #expect(bench.legs.count == 5)
    }

    @Test func `come before a question that was begun later, and after one that was begun before`() throws {
        let bench = try Bench()
        let line = try bench.line()
        final class Question: LoopSource {
            var ask: () -> Void = {}
            func ready(_ readiness: Loop.Readiness) { ask() }
        }
        let (ours, its) = try pair()
        let question = Question()
        try bench.loop.watch(its.descriptor, for: .readable, question)
        var heard: [[Int64]] = []
        question.ask = {
            bench.loop.unwatch(its.descriptor)
            for begunAt in [Int64(150), 250] {
                bench.lines.handle(before: MessageReader(message(0, begunAt: begunAt))!)
                heard.append(bench.legs)
            }
        }
        for (leg, time) in [(1, 100), (2, 200), (3, 300)] as [(Int64, Int64)] {
            _ = line.send(message(leg, begunAt: time))
        }
        _ = ours.send([1])
        bench.turn(until: 3)
        #expect(heard == [[1], [1, 2]])
        #expect(bench.legs == [1, 2, 3])
    }

    private func pair() throws -> (LocalSocket, LocalSocket) {
        let path = "/tmp/pushwake-pair-\(SystemClock.processID())-\(UInt64.random(in: 0...UInt64.max)).sock"
        let listener = try LocalSocket.listen(path: path)
        return (try LocalSocket.connect(path: path), try #require(listener.accept()))
    }

    @Test func `are read to their end, and those that carry something else are closed`() throws {
        let bench = try Bench()
        var leaving: LocalSocket? = try bench.line()
        let broken = try bench.line()
        for leg in 1...100 { _ = leaving?.send(message(Int64(leg), begunAt: 1)) }
        leaving = nil
        _ = broken.send([9, 9, 9])
        bench.turn(until: 100)
        #expect(bench.legs == Array(1...100))
        for _ in 0..<100 where bench.ended < 2 { bench.loop.turn(waitingUpTo: 20) }
        #expect(bench.ended == 2)
        #expect(broken.send([1]) == .closed)
        let late = try bench.line()
        _ = late.send(message(101, begunAt: nil))
        bench.turn(until: 101)
        #expect(bench.legs.last == 101)
    }
}
