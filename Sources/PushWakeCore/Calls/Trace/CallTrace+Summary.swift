// SPDX-License-Identifier: MIT

extension CallTrace {
    /// What became of each phone in a few words: who rang, and why another one did not.
    public var summary: String {
        var fates: [(device: UInt8, fate: Fate)] = []
        for line in lines where line.device != TraceLine.nobody {
            if let index = fates.firstIndex(where: { $0.device == line.device }) {
                fates[index].fate.take(line)
            } else {
                var fate = Fate()
                fate.take(line)
                fates.append((line.device, fate))
            }
        }
        fates.sort { $0.device < $1.device }
        if end?.how == .answered, let index = Self.answering(fates.map(\.fate)) { fates[index].fate.heard = 200 }
        let texts = fates.map { words(for: $0.fate, $0.device) }
        return PrintableText.cleaned(texts.isEmpty ? "there was no phone to ring" : texts.joined(separator: "; "))
    }

    /// Hosts report the end of an answered request, and not always which leg it was: the one that can have answered.
    private static func answering(_ fates: [Fate]) -> Int? {
        guard !fates.contains(where: { $0.heard >= 200 && $0.heard < 300 }) else { return nil }
        let open = fates.indices.filter { fates[$0].lastLeg != nil && fates[$0].heard < 300 }
        let ringing = open.filter { fates[$0].hasRung }
        if ringing.count == 1 { return ringing[0] }
        return open.count == 1 ? open[0] : nil
    }

    /// How far one device came in the request.
    private struct Fate {
        /// Highest provisional, or final, status that it sent.
        var heard: UInt16 = 0
        var hasRung = false
        var wasPushed = false
        var isAccepted = false
        var lastFailure: TraceLine?
        var refusal: TraceLine?
        var hasRegistered = false
        var isLate = false
        var lastLeg: TraceLine?
        var failedLeg: TraceLine?

        mutating func take(_ line: TraceLine) {
            switch line.kind {
            case .pushed where line.pushEvent?.isNotice != true: wasPushed = true
            case .pushEnded where line.pushEvent?.isNotice != true:
                if line.outcome == .accepted { isAccepted = true } else { lastFailure = line }
            case .notPushed, .putOff: refusal = line
            case .registered: hasRegistered = true
            case .late: isLate = true
            case .rung: lastLeg = line
            case .legFailed where line.status != CallLeg.merged: failedLeg = line
            case .progressed:
                heard = max(heard, line.status)
                if line.status > 100 && line.status < 200 { hasRung = true }
            default: break
            }
        }
    }

    private func words(for fate: Fate, _ device: UInt8) -> String {
        let phone = phone(device)
        if fate.heard >= 200 && fate.heard < 300 { return "\(phone) answered" }
        if TraceLine.isUnanswered(fate.heard) || fate.hasRung && fate.heard < 200 { return "\(phone) rang" }
        if fate.heard >= 300 { return "\(phone) \(fate.hasRung ? "rang and " : "")declined (\(fate.heard))" }
        if fate.heard > 0 { return "\(phone) had the request (\(fate.heard)) and did not ring" }
        if case .failed(..<300)? = end?.how, fate.isAccepted {
            return "\(provider(device)) accepted the push to \(phone)"
        }
        if fate.isLate { return "\(phone) came after the end" }
        if fate.hasRegistered && isLeft { return "\(phone) registered, and the dialplan went on" }
        if fate.hasRegistered && fate.lastLeg != nil { return "\(phone) registered, was rung and did not answer" }
        if let sleep = sleepWords(for: fate, phone, device) { return sleep }
        if let leg = fate.failedLeg { return "\(phone) was not reached (\(leg.status))" }
        if fate.lastLeg != nil { return "\(phone) was rung and did not answer" }
        if let refusal = fate.refusal { return sentence(of: refusal) }
        return fate.hasRegistered ? "\(phone) registered" : "\(phone) had no contact to ring"
    }

    /// Of a phone that a push should have woken.
    private func sleepWords(for fate: Fate, _ phone: String, _ device: UInt8) -> String? {
        guard fate.wasPushed || fate.isAccepted || fate.lastFailure != nil else { return nil }
        if fate.isAccepted { return "\(provider(device)) accepted the push and \(phone) did not register" }
        guard let failure = fate.lastFailure else {
            if fate.refusal?.kind == .putOff { return "\(phone) did not register after the push before" }
            return "\(phone) did not register, and \(provider(device)) has not answered the push"
        }
        let reason = text(of: failure)
        return "no push reached \(phone): \(failure.outcome?.name ?? "")\(reason.isEmpty ? "" : " \(reason)")"
    }
}

extension PushEvent {
    /// It tells of an end, and wakes nobody for a request.
    var isNotice: Bool { self == .cancel || self == .missed || self == .answeredElsewhere }
}

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
        return row
    }

    /// Empty while it goes on. What becomes of a request that no push can help, or whose channel only waited for a phone, is
    /// not watched.
    private var ending: String {
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
