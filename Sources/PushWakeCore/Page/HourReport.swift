// SPDX-License-Identifier: MIT

/// The last hour as small charts, which are drawn here as SVG.
public struct HourReport: Equatable, Sendable {
    /// What happened in a part of the hour.
    public struct Part: Equatable, Sendable {
        /// Phones that have registered after a push for a call or message.
        public var woken: UInt64 = 0
        /// Calls by what their callers' wait came to: they rang, were hung up before, or nobody came.
        public var rang: UInt64 = 0
        public var early: UInt64 = 0
        public var lost: UInt64 = 0
        /// From a push to its provider's answer, and to the phone's REGISTER.
        public var answers: MetricHistogram?
        public var wakes: MetricHistogram?

        public init() {}

        var calls: UInt64 { rang &+ early &+ lost }
    }

    /// Parts of an hour.
    public static let parts = 30
    private static let width = 10
    private static let height = 60

    /// The oldest first; fewer than `parts` where the engine has not run for an hour.
    public var parts: [Part] = []

    public init() {}

    /// Of the whole hour, milliseconds; nil without any time.
    static func quantile(_ percent: UInt64, _ parts: [MetricHistogram?]) -> Int64? {
        let known = parts.compactMap { $0 }
        guard var sum = known.first else { return nil }
        for next in known.dropFirst() { sum.add(next) }
        return sum.quantile(percent).map { ($0 + 500) / 1000 }
    }

    func write(_ html: inout HTMLText) {
        html.markup("<section><h2>Last hour</h2>")
        guard parts.contains(where: { $0.calls > 0 || $0.woken > 0 || $0.answers != nil }) else {
            return html.markup("<p class=\"empty\">No call and no push. Charts come with the first.</p></section>")
        }
        html.markup("<div class=\"charts\">")
        let woken = parts.reduce(0) { $0 &+ $1.woken }
        figure("Phones woken", [("rang", "\(woken)")], [bars([(\.woken, "rang")])], &html)
        let sum = parts.reduce(into: Part()) { sum, part in
            sum.rang &+= part.rang
            sum.early &+= part.early
            sum.lost &+= part.lost
        }
        figure(
            "How calls ended",
            [("rang", "\(sum.rang) rang"), ("early", "\(sum.early) hung up before"), ("lost", "\(sum.lost) lost")],
            [bars([(\.rang, "rang"), (\.early, "early"), (\.lost, "lost")])], &html)
        figure("Push services answer", times(parts.map(\.answers)), lines(parts.map(\.answers)), &html)
        figure("Phones wake", times(parts.map(\.wakes)), lines(parts.map(\.wakes)), &html)
        html.markup("</div></section>")
    }

    private func times(_ histograms: [MetricHistogram?]) -> [Key] {
        guard let half = Self.quantile(50, histograms), let most = Self.quantile(99, histograms) else {
            return [("none", "none yet")]
        }
        return [("half", "p50 \(TraceText.duration(half))"), ("most", "p99 \(TraceText.duration(most))")]
    }

    // MARK: Drawing

    private typealias Shape = (style: String, path: String)
    /// What a colour stands for.
    private typealias Key = (style: String, words: String)

    private func figure(_ title: String, _ keys: [Key], _ shapes: [[Shape]], _ html: inout HTMLText) {
        let words = keys.map(\.words).joined(separator: ", ")
        let width = Self.parts * Self.width
        html.markup("<figure><figcaption>")
        html.value(title)
        html.markup(" <b>")
        for key in keys {
            html.markup("<span")
            html.attribute("class", key.style)
            html.markup(">")
            html.value(key.words)
            html.markup("</span> ")
        }
        html.markup("</b></figcaption><svg class=\"chart\" role=\"img\" preserveAspectRatio=\"none\"")
        html.attribute("viewBox", "0 0 \(width) \(Self.height)")
        html.attribute("aria-label", "\(title) in the last hour: \(words)")
        html.markup("><path class=\"base\"")
        html.attribute("d", "M0,\(Self.height)H\(width)")
        html.markup("></path>")
        for shape in shapes.joined() where !shape.path.isEmpty {
            html.markup("<path")
            html.attribute("class", shape.style)
            html.attribute("d", shape.path)
            html.markup("></path>")
        }
        html.markup("</svg><p class=\"axis\"><span>1 h ago</span><span>now</span></p></figure>")
    }

    /// Where a part begins: the newest stands at the right.
    private func place(_ index: Int) -> Int { (Self.parts - parts.count + index) * Self.width }

    private func bars(_ series: [(value: KeyPath<Part, UInt64>, style: String)]) -> [Shape] {
        let most = parts.map { part in series.reduce(0) { $0 &+ part[keyPath: $1.value] } }.max() ?? 0
        guard most > 0 else { return [] }
        var below = [UInt64](repeating: 0, count: parts.count)
        return series.map { value, style in
            var path = ""
            for (index, part) in parts.enumerated() where part[keyPath: value] > 0 {
                let bottom = Self.height - scaled(below[index], most)
                below[index] &+= part[keyPath: value]
                let top = min(Self.height - scaled(below[index], most), bottom - 1)
                path += "M\(place(index) + 1),\(bottom)V\(top)h\(Self.width - 2)V\(bottom)z"
            }
            return (style, path)
        }
    }

    private func scaled(_ value: UInt64, _ most: UInt64) -> Int { Int(value &* UInt64(Self.height - 2) / most) }

    private func lines(_ histograms: [MetricHistogram?]) -> [[Shape]] {
        let half = histograms.map { $0?.quantile(50) }
        let most = histograms.map { $0?.quantile(99) }
        let top = most.compactMap { $0 }.max() ?? 0
        guard top > 0 else { return [] }
        func path(_ values: [Int64?]) -> String {
            var path = ""
            for (index, value) in values.enumerated() {
                guard let value else { continue }
                let y = Self.height - max(1, scaled(UInt64(max(value, 0)), UInt64(top)))
                path += "M\(place(index) + 1),\(y)h\(Self.width - 2)"
            }
            return path
        }
        return [[("line half", path(half)), ("line most", path(most))]]
    }
}
