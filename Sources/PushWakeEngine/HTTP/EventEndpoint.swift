// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// `/events`: tells open pages that they have changed. They ask for the page then; nothing of a call is in an event.
///
/// What it costs does not depend on the calls: once in a turn it compares numbers, and while nobody listens there is no
/// turn. A reader that does not take its last event gets no other, and is closed by the listener's limits.
final class EventEndpoint {
    /// Readers at a time, and no more than a part of all connections: pages have to be fetched as well.
    private static let most = 16
    private static let shareOfConnections = 4
    /// Milliseconds between two looks for what has changed.
    private static let pause: Int64 = 1000
    /// Traces of a user or a Call-ID that a page shows.
    private static let mostTraces = 5

    private struct Listener {
        let stream: AnswerStream
        var reader: PageReader
    }

    private let traces: TraceRing
    private let loop: Loop
    private var listeners: [Listener] = []
    private var isLooking = false

    init(_ traces: TraceRing, loop: Loop) { (self.traces, self.loop) = (traces, loop) }

    /// Pages that are open now.
    var count: Int { listeners.count }

    var endpoint: HTTPEndpoint {
        HTTPEndpoint(method: "GET", path: "/events", audience: .operators, changes: true) { [weak self] in
            self?.take($0)
        }
    }

    /// Ends all of them: browsers come again, and say who they are.
    func endAll() {
        for listener in listeners { listener.stream.end() }
        listeners = []
    }

    private func take(_ call: HTTPCall) {
        forgetGone()
        let most = min(Self.most, max(1, HTTPInterface.mostConnections / Self.shareOfConnections))
        guard listeners.count < most else {
            var answer = ServedAnswer.problem(503, "\(most) pages are open already; this one asks now and then")
            answer.headers.append(.init(name: "retry-after", value: "15"))
            return call.answer(answer)
        }
        // A proxy that collects what it passes on would keep events from their reader.
        let answer = ServedAnswer(
            200, type: "text/event-stream", headers: [.init(name: "x-accel-buffering", value: "no")])
        guard let stream = call.slot.open(answer) else { return }
        stream.send(PageReader.opening)
        let query = PageEndpoints.query(of: call.request)
        listeners.append(Listener(stream: stream, reader: PageReader(query: query, now: loop.now)))
        look()
    }

    private func forgetGone() { listeners.removeAll { $0.stream.state == .gone } }

    private func look() {
        guard !isLooking, !listeners.isEmpty else { return }
        isLooking = true
        loop.schedule(after: Self.pause) { [weak self] in
            guard let self else { return }
            isLooking = false
            forgetGone()
            for index in listeners.indices { tell(&listeners[index]) }
            look()
        }
    }

    private func tell(_ listener: inout Listener) {
        let query = listener.reader.query
        let changes = query.isEmpty ? traces.changes : traces.changes(of: query, limit: Self.mostTraces)
        let event = listener.reader.next(
            changes: changes, hasReadAll: listener.stream.state == .taken, now: loop.now)
        if let event { listener.stream.send(event) }
    }
}
