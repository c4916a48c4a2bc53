// SPDX-License-Identifier: MIT

/// A push payload: JSON text with keywords, compiled once, rendered once per push.
///
/// Compiling checks the JSON grammar with the keywords in their places, so that rendering
/// cannot give anything but valid JSON: literal runs are copied, values are escaped for the
/// string they stand in, and only fields that always are numbers may stand bare.
public struct PayloadTemplate: Equatable, Sendable {
    /// What a template is made of, in order.
    enum Segment: Equatable, Sendable {
        case literal([UInt8])
        case field(PayloadField)
    }

    let segments: [Segment]
    private let escape: TextEscape

    /// Longest template that is read; far above any provider's payload limit.
    public static let maximumSourceBytes = 65_536

    /// Compiles JSON with keywords under a provider's rules.
    ///
    /// Text below an `--EOF--` mark is ignored (Mizutech). Throws with line and column when the
    /// text is not one JSON object.
    public init(
        json source: some Sequence<UInt8>, rules: PayloadRules = PayloadRules()
    ) throws(PayloadTemplateError) {
        var compiler = PayloadTemplateCompiler(Array(source), rules)
        segments = try compiler.compile()
        escape = .json
    }

    /// Compiles text with keywords that is no JSON: a URL, a form body, a header value.
    public init(text source: some Sequence<UInt8>, escape: TextEscape) {
        segments = PayloadTemplateCompiler.segments(ofText: Array(source))
        self.escape = escape
    }

    /// Appends the payload of one push.
    public func render(_ values: borrowing PayloadValues, into out: inout [UInt8]) {
        for segment in segments {
            switch segment {
            case .literal(let bytes): out.append(contentsOf: bytes)
            case .field(let field): values.append(field, escape, to: &out)
            }
        }
    }

    /// Appends the payload, giving up text of ever greater importance until it fits `limit` bytes.
    ///
    /// Returns false, with `out` as it was, when even the call id with nothing else is too long.
    public func render(
        _ values: PayloadValues, limit: Int, into out: inout [UInt8]
    ) -> Bool {
        let start = out.count
        render(values, into: &out)
        if out.count - start <= limit { return true }
        var shorter = values
        for sacrifice in PayloadValues.Sacrifice.allCases {
            shorter.sacrifice = sacrifice
            out.removeSubrange(start...)
            render(shorter, into: &out)
            if out.count - start <= limit { return true }
        }
        out.removeSubrange(start...)
        return false
    }
}
