// SPDX-License-Identifier: MIT

extension CallTrace {
    /// One value of a row, for JSON, RPC and consoles.
    public enum Value: Equatable, Sendable {
        case text(String)
        case number(Int64)
    }

    /// Values in order, under their names.
    public typealias Row = [(name: String, value: Value)]

    /// What stands above the lines; `now` in monotonic milliseconds.
    public func header(now: Int64) -> Row {
        var row: Row = [
            ("started_ago", .number(max(0, now &- startedAt) / 1000)), ("method", .text(PrintableText.cleaned(method))),
            ("aor", .text(PrintableText.cleaned(aor))), ("from", .text(PrintableText.cleaned(from))),
            ("call_id", .text(PrintableText.cleaned(callID))), ("cseq", .number(Int64(cseq))),
            ("end", .text(ending)),
        ]
        if let end { row.append(("end_ms", .number(end.at))) }
        row.append(("summary", .text(summary)))
        if case .failed(let remedy) = result { row.append(("remedy", .text(remedy))) }
        return row
    }

    /// Empty while it goes on. What becomes of a request that no push can help, or whose channel only waited for a phone, is
    /// not watched.
    var ending: String {
        if let end { return end.how.name }
        if isLeft { return "not watched" }
        let isWatched = lines.contains { line in
            switch line.kind {
            case .plain, .notPushed, .rung, .gaveUp: false
            default: true
            }
        }
        return lines.isEmpty || isWatched ? "" : "not watched"
    }

    /// The devices, then the lines; a gap where lines are missing.
    public func rows() -> [Row] {
        var rows: [Row] = names.indices.compactMap { index in introduction(of: index).map { introduce(index, $0) } }
        for (index, line) in lines.enumerated() {
            if index == Self.firstLines && omitted > 0 {
                let word = omitted == 1 ? "line" : "lines"
                rows.append(
                    [
                        ("at_ms", .number(Int64(line.at))), ("text", .text("\(omitted) \(word) left out")),
                        ("what", .text("omitted")), ("count", .number(Int64(omitted))),
                    ])
            }
            rows.append(row(of: line))
        }
        return rows
    }

    func introduce(_ index: Int, _ text: String) -> Row {
        var row: Row = [
            ("at_ms", .number(0)), ("text", .text(text)), ("what", .text("phone")),
            ("phone", .number(Int64(index + 1))),
        ]
        guard let name = names[index] else { return row }
        let values = [
            ("provider", name.provider?.name ?? ""), ("app", name.app), ("token", name.token),
            ("instance", name.instance),
        ]
        for (key, value) in values where !value.isEmpty { row.append((key, .text(PrintableText.cleaned(value)))) }
        return row
    }

    func row(of line: TraceLine) -> Row {
        var row: Row = [
            ("at_ms", .number(Int64(line.at))), ("text", .text(sentence(of: line))), ("what", .text(line.kind.name)),
        ]
        func add(_ name: String, _ number: some BinaryInteger) {
            if number > 0 { row.append((name, .number(Int64(number)))) }
        }
        func add(_ name: String, _ text: String?) {
            if let text, !text.isEmpty { row.append((name, .text(PrintableText.cleaned(text)))) }
        }
        add("phone", line.index.map { $0 + 1 } ?? 0)
        if line.pushEvent != nil, let index = line.index, names.indices.contains(index) {
            add("provider", names[index]?.provider?.name)
        }
        add("event", line.pushEvent?.name)
        add("cause", line.cause?.name)
        add("outcome", line.outcome?.name)
        let name =
            switch line.kind {
            case .rung: "contact"
            case .announced: "node"
            default: "reason"
            }
        add(name, text(of: line))
        add("end", line.end?.name)
        add("leg", line.leg)
        add("replaced_leg", line.replacedLeg)
        add(line.outcome == nil ? "status" : "http_status", line.status)
        if line.milliseconds > 0 || line.outcome != nil { row.append(("ms", .number(Int64(line.milliseconds)))) }
        if line.outcome != nil && line.flag { row.append(("binding_removed", .number(1))) }
        return row
    }
}
