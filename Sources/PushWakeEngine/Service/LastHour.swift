// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

/// What was counted in each part of the last hour: copies of counters that run since the start, and no counting of its own.
struct LastHour {
    /// Milliseconds of a part.
    static let part = Int64(3_600_000 / HourReport.parts)

    private struct Mark {
        let times: CallTimes
        let bindings: Int?
    }

    /// At the beginning of each part, the oldest first.
    private var marks: [Mark] = []

    /// A part begins.
    mutating func mark(_ times: CallTimes, bindings: Int?) {
        if marks.count == HourReport.parts { marks.removeFirst() }
        marks.append(Mark(times: times, bindings: bindings))
    }

    /// Bindings when the hour began, or the engine.
    var bindingsBefore: Int? { marks.first?.bindings }

    /// The parts up to now.
    func report(_ now: CallTimes) -> HourReport {
        var report = HourReport()
        let ends = marks.dropFirst().map(\.times) + [now]
        report.parts = zip(marks, ends).map { Self.part($0.times, $1) }
        return report
    }

    /// The answers of a provider in this hour.
    func answers(of provider: Provider, _ now: CallTimes) -> MetricHistogram? {
        now.providerAnswers[provider]?.since(marks.first?.times.providerAnswers[provider])
    }

    private static func part(_ begin: CallTimes, _ end: CallTimes) -> HourReport.Part {
        var part = HourReport.Part()
        func count(_ wait: CallTimes.WaitEnd) -> UInt64 {
            let old = begin.waits[wait]?.total ?? 0
            return (end.waits[wait]?.total ?? 0) &- old
        }
        part.rang = count(.rang)
        part.early = count(.cancelled)
        part.lost = count(.timedOut) &+ count(.failed)
        part.answers = sum(begin.providerAnswers, end.providerAnswers)
        part.wakes = sum(begin.wakes, end.wakes)
        part.woken = part.wakes?.total ?? 0
        return part
    }

    /// Of all providers; nil without any time.
    private static func sum(
        _ begin: [Provider: MetricHistogram], _ end: [Provider: MetricHistogram]
    ) -> MetricHistogram? {
        var sum: MetricHistogram?
        for (provider, histogram) in end {
            let new = histogram.since(begin[provider])
            guard new.total > 0 else { continue }
            if sum == nil { sum = new } else { sum?.add(new) }
        }
        return sum
    }
}

extension Queries {
    /// Begins, and goes on as long as the engine lives.
    func watchHour() {
        hour.mark(context.times, bindings: store.state.bindings)
        context.loop.schedule(after: LastHour.part) { [weak self] in self?.watchHour() }
    }
}
