// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `Metrics for Prometheus` {
    @Test func `are written family by family, labels escaped`() {
        var text = MetricsText()
        text.family("a_total", .counter, "Help.")
        text.sample("a_total", 3, [("provider", "x\"y\\z\n")])
        text.single("b", .gauge, -1, "More.")
        #expect(
            String(decoding: text.bytes, as: UTF8.self)
                == "# HELP a_total Help.\n# TYPE a_total counter\na_total{provider=\"x\\\"y\\\\z?\"} 3\n"
                + "# HELP b More.\n# TYPE b gauge\nb -1\n")
    }

    @Test(
        arguments: [
            (0, "0"), (1, "0.000001"), (1_500_000, "1.5"), (-250_000, "-0.25"), (Int64.min, "-9223372036854.775808"),
        ] as [(Int64, String)])
    func `have fractions without rounding`(millionths: Int64, written: String) {
        #expect(MetricsText.decimal(millionths) == written)
    }

    @Test func `have histograms whose buckets add up`() {
        var histogram = MetricHistogram(bounds: [1000, 1_000_000])
        for time in [-5, 0, 1000, 1001, 5_000_000] as [Int64] { histogram.add(microseconds: time) }
        var text = MetricsText()
        text.histograms("t_seconds", "Help.", [([("p", "x")], histogram)])
        let lines = String(decoding: text.bytes, as: UTF8.self).split(separator: "\n").dropFirst(2)
        #expect(
            lines == [
                "t_seconds_bucket{p=\"x\",le=\"0.001\"} 3", "t_seconds_bucket{p=\"x\",le=\"1\"} 4",
                "t_seconds_bucket{p=\"x\",le=\"+Inf\"} 5", "t_seconds_sum{p=\"x\"} 5.002001",
                "t_seconds_count{p=\"x\"} 5",
            ])
    }

    @Test func `never trap on what is too large`() {
        var histogram = MetricHistogram.wake
        for _ in 0..<3 { histogram.add(microseconds: .max) }
        #expect(histogram.total == 3)
    }

    @Test(arguments: [MetricHistogram.ownWork, .providerAnswer, .wake])
    func `have ascending bounds`(histogram: MetricHistogram) {
        #expect(zip(histogram.bounds, histogram.bounds.dropFirst()).allSatisfy { $0 < $1 })
    }
}
