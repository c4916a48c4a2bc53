// SPDX-License-Identifier: MIT

/// Writes metrics in Prometheus' text format, version 0.0.4
/// (prometheus.io/docs/instrumenting/exposition_formats).
public struct MetricsText: Sendable {
    /// The media type of it.
    public static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    /// Kinds of families that are written sample by sample.
    public enum Kind: String, Sendable {
        case counter
        case gauge
    }

    /// One label.
    public typealias Label = (name: String, value: String)

    /// What is written so far.
    public private(set) var bytes: [UInt8] = []

    /// Begins with nothing.
    public init() {}

    /// Begins a family; its samples come next. `help` is a sentence.
    public mutating func family(_ name: String, _ kind: Kind, _ help: String) { begin(name, kind.rawValue, help) }

    /// One sample of the family that was begun.
    public mutating func sample(_ name: String, _ value: Int64, _ labels: [Label] = []) {
        write(name, labels, String(value))
    }

    /// The same with a fraction of millionths, such as seconds that were counted in microseconds.
    public mutating func sample(_ name: String, millionths: Int64, _ labels: [Label] = []) {
        write(name, labels, Self.decimal(millionths))
    }

    /// A family of one sample.
    public mutating func single(_ name: String, _ kind: Kind, _ value: Int64, _ help: String) {
        family(name, kind, help)
        sample(name, value)
    }

    /// A family of histograms in seconds, each with its labels.
    public mutating func histograms(
        _ name: String, _ help: String, _ entries: [(labels: [Label], histogram: MetricHistogram)]
    ) {
        begin(name, "histogram", help)
        for (labels, histogram) in entries {
            var cumulative: UInt64 = 0
            for (index, count) in histogram.counts.enumerated() {
                cumulative &+= count
                let bound = index < histogram.bounds.count ? Self.decimal(histogram.bounds[index]) : "+Inf"
                write("\(name)_bucket", labels + [(name: "le", value: bound)], String(cumulative))
            }
            write("\(name)_sum", labels, Self.decimal(histogram.sum))
            write("\(name)_count", labels, String(cumulative))
        }
    }

    private mutating func begin(_ name: String, _ kind: String, _ help: String) {
        bytes += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n".utf8
    }

    private mutating func write(_ name: String, _ labels: [Label], _ value: String) {
        bytes += name.utf8
        if !labels.isEmpty {
            bytes.append(UInt8(ascii: "{"))
            for (index, label) in labels.enumerated() {
                if index > 0 { bytes.append(ASCII.comma) }
                bytes += "\(label.name)=\"".utf8
                for byte in PrintableText.cleaned(label.value).utf8 {
                    if byte == ASCII.quote || byte == ASCII.backslash { bytes.append(ASCII.backslash) }
                    bytes.append(byte)
                }
                bytes.append(ASCII.quote)
            }
            bytes.append(UInt8(ascii: "}"))
        }
        bytes += " \(value)\n".utf8
    }

    /// Millionths as a decimal number without trailing zeros.
    static func decimal(_ millionths: Int64) -> String {
        let magnitude = millionths.magnitude
        var fraction = String(magnitude % 1_000_000 + 1_000_000).dropFirst()
        while fraction.last == "0" { fraction.removeLast() }
        let sign = millionths < 0 ? "-" : ""
        return "\(sign)\(magnitude / 1_000_000)\(fraction.isEmpty ? "" : ".\(fraction)")"
    }
}
