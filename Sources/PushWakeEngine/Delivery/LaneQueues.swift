// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// The queues of all lanes, for what is to be known of them together. Lanes come and go; it keeps none alive.
final class LaneQueues {
    private struct Place {
        weak var queue: LaneQueue?
    }

    /// Pushes that may wait in each.
    let capacity: Int
    private var places: [Place] = []

    init(capacity: Int) { self.capacity = capacity }

    /// Makes the queue in front of a pool; `share` is which part of the capacity it has.
    func make(_ pool: HTTPConnectionPool, share: Int, isCounted: Bool = true, loop: Loop) -> LaneQueue {
        let queue = LaneQueue(pool: pool, capacity: max(1, capacity / max(1, share)), loop: loop)
        guard isCounted else { return queue }
        places.removeAll { $0.queue == nil }
        places.append(Place(queue: queue))
        return queue
    }

    /// Ends all pushes.
    func close(_ verdict: Verdict) { for place in places { place.queue?.close(verdict) } }

    /// How full the fullest is, in parts of 100.
    var fill: Int { places.reduce(0) { max($0, $1.queue?.fill ?? 0) } }
    /// Pushes that wait.
    var waiting: Int { places.reduce(0) { $0 + ($1.queue?.count ?? 0) } }
    /// Pushes without an answer.
    var inFlight: Int { places.reduce(0) { $0 + ($1.queue?.inFlight ?? 0) } }
    /// Queues whose provider asked for silence.
    var held: Int { places.count { $0.queue?.isHeld ?? false } }
}
