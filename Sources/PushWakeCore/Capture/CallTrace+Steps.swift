// SPDX-License-Identifier: MIT

extension CallTrace {
    /// One step that nobody was told of yet.
    public struct Step: Sendable {
        /// Monotonic milliseconds.
        public let time: Int64
        /// Its place among steps of the same millisecond, from 0 to 999.
        public let order: Int
        /// As `rows()` has it.
        public let row: Row
    }

    /// What has happened since it was asked last, in order: how the request came, who its phones are, and each line.
    public mutating func takeNewSteps() -> [Step] {
        var steps: [Step] = []
        if !isReported {
            let row: Row = [
                ("at_ms", .number(0)),
                ("text", .text(PrintableText.cleaned("\(method) for \(aor)\(from.isEmpty ? "" : " from \(from)")"))),
                ("what", .text("request")), ("from", .text(PrintableText.cleaned(from))),
                ("cseq", .number(Int64(cseq))),
            ]
            steps.append(Step(time: startedAt, order: 0, row: row))
            isReported = true
        }
        for index in names.indices where unreportedNames & (1 << UInt8(index)) != 0 {
            guard let text = introduction(of: index) else { continue }
            steps.append(Step(time: startedAt, order: index + 1, row: introduce(index, text)))
        }
        let first = lines.count - min(Int(unreportedLines), lines.count)
        for index in first..<lines.count {
            let time = startedAt.addingReportingOverflow(Int64(lines[index].at)).partialValue
            let order = min(Self.mostNames + 1 + index, 999)
            steps.append(Step(time: time, order: order, row: row(of: lines[index])))
        }
        unreportedNames = 0
        unreportedLines = 0
        return steps
    }
}

extension CallTrace.Step {
    /// The step as a log shows it: `PushWake: INVITE for alice +12 ms: phone 1 rings (180)`.
    public func line(of trace: CallTrace) -> String {
        var text = ""
        var at: Int64 = 0
        for field in row {
            switch field {
            case ("text", .text(let value)): text = value
            case ("at_ms", .number(let value)): at = value
            default: break
            }
        }
        return "PushWake: \(PrintableText.cleaned("\(trace.method) for \(trace.aor)")) +\(at) ms: \(text)"
    }

    /// The step as an object: the request it belongs to, then the fields of its row.
    public func json(of trace: CallTrace) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            for (name, value) in [("method", trace.method), ("aor", trace.aor), ("call_id", trace.callID)] {
                writer.name(name)
                writer.string(value)
            }
            for field in row {
                writer.name(field.name)
                switch field.value {
                case .text(let text): writer.string(text)
                case .number(let number): writer.integer(number)
                }
            }
        }
        return writer.bytes
    }
}
