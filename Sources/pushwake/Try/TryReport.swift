// SPDX-License-Identifier: MIT

import PushWakeCore

/// What `pushwake try` shows: for people round by round, for machines as one document.
struct TryReport {
    private let uri: String
    private var rounds: [WakingTrial.Round] = []

    init(_ uri: String) { self.uri = uri }

    mutating func add(_ round: WakingTrial.Round) { rounds.append(round) }

    /// The first step that was missing in any round.
    var missing: MissingStep? { rounds.lazy.compactMap(\.report.missing).first }

    /// What is printed as it happens: the lines of a report that are not there yet. All of them again where another phone
    /// turns out to be the one that matters.
    struct Progress {
        private var lines: [String] = []

        mutating func text(_ findings: some Sequence<WakingReport.Finding>) -> String {
            let new = findings.map(TryReport.line)
            let first = new.starts(with: lines) ? lines.count : 0
            lines = new
            return new.dropFirst(first).map { "\($0)\n" }.joined()
        }
    }

    private static func line(_ finding: WakingReport.Finding) -> String {
        let time = finding.at.map { "+\($0) ms" } ?? ""
        return padded(finding.isMissing ? "MISSING" : "ok", 9) + padded(finding.step.rawValue, 14)
            + padded(time, 11) + finding.text
    }

    /// What stands below the steps: what to do about the first that is missing.
    static func conclusion(_ round: WakingTrial.Round) -> String {
        var lines: [String] = []
        if let missing = round.report.missing {
            lines += ["", "\(missing.meaning).", "What the \(missing.actor.rawValue) has to do: \(missing.remedy)."]
        } else {
            lines += ["", "No step is missing: the phone sleeps, wakes and rings."]
        }
        return (lines + ["All that happened: pushwake trace \(round.callID)"]).joined(separator: "\n")
    }

    private static func padded(_ word: String, _ width: Int) -> String {
        word + String(repeating: " ", count: max(1, width - word.count))
    }

    /// One object with an array of rounds.
    var json: String {
        var writer = JSONWriter()
        writer.object { object in
            object.name("user")
            object.string(uri)
            object.name("exit_code")
            object.integer(Int64(missing?.exitCode ?? 0))
            object.name("rounds")
            object.array { rounds in
                for round in self.rounds { rounds.object { Self.put(round, &$0) } }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func put(_ round: WakingTrial.Round, _ object: inout JSONWriter) {
        object.name("call_id")
        object.string(round.callID)
        object.name("steps")
        object.array { steps in
            for finding in round.report.findings {
                steps.object { step in
                    put(
                        [
                            ("step", finding.step.rawValue), ("state", finding.isMissing ? "missing" : "ok"),
                            ("text", finding.text),
                        ], &step)
                    guard let at = finding.at else { return }
                    step.name("ms")
                    step.integer(at)
                }
            }
        }
        guard let missing = round.report.missing else { return }
        object.name("missing")
        object.object { step in
            put(
                [
                    ("step", missing.name), ("meaning", missing.meaning), ("actor", missing.actor.rawValue),
                    ("remedy", missing.remedy),
                ], &step)
        }
    }

    private static func put(_ values: [(name: String, text: String)], _ object: inout JSONWriter) {
        for (name, text) in values {
            object.name(name)
            object.string(text)
        }
    }
}
