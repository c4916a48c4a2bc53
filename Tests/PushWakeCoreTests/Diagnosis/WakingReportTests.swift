// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

private typealias Event = WakingFacts.Event
private typealias What = WakingFacts.Event.What

private func phone(_ token: String = "aaa…111", _ instance: String = "urn:uuid:1", at: Int64 = 1000)
    -> WakingFacts.Phone
{
    WakingFacts.Phone(provider: .fcm, app: "com.a", token: token, instance: instance, registeredAt: at)
}

private let accepted = What.pushEnded(.accepted, reason: "", httpStatus: 200, milliseconds: 40)

/// A call that wakes a phone, which rings until the caller hangs up.
private func woken() -> WakingFacts {
    var facts = WakingFacts(
        caller: WakingFacts.Caller(ringing: 1900, cancelled: 6900, ended: 6950, status: 180, text: "the phone rang"))
    facts.before = [phone(at: -60_000)]
    facts.after = [phone()]
    facts.tokens = [1: "aaa…111"]
    facts.events = [
        Event(at: 2, phone: 1, .pushed), Event(at: 43, phone: 1, accepted), Event(at: 1800, phone: 1, .registered),
        Event(at: 1801, phone: 1, .rung), Event(at: 1850, phone: 1, .answered(100)),
        Event(at: 1900, phone: 1, .answered(180)),
    ]
    return facts
}

/// The same, changed.
private func facts(_ change: (inout WakingFacts) -> Void) -> WakingFacts {
    var facts = woken()
    change(&facts)
    return facts
}

/// Only what happened until a moment, and nobody rang.
private func until(_ end: Int64, _ further: Event...) -> WakingFacts {
    facts {
        $0.events = $0.events.filter { $0.at <= end } + further
        $0.caller = WakingFacts.Caller(cancelled: 40_000, ended: 40_010, status: 110, text: "no phone rang")
    }
}

struct WakingRow: Sendable, CustomTestStringConvertible {
    let name: String
    let facts: WakingFacts
    let missing: MissingStep

    var testDescription: String { name }
}

private let rows = [
    WakingRow(name: "no binding", facts: facts { $0.before = [] }, missing: .binding(removed: "")),
    WakingRow(
        name: "removed",
        facts: facts {
            $0.before = []
            $0.removed = "token-gone"
        }, missing: .binding(removed: "token-gone")),
    WakingRow(
        name: "no trace",
        facts: facts {
            $0.events = []
            $0.caller = WakingFacts.Caller(ended: 4, status: 404, text: "the call was refused: 404 Not Found")
        }, missing: .question(caller: "the call was refused: 404 Not Found")),
    WakingRow(
        name: "awake", facts: facts { $0.events = [Event(at: 1, phone: 1, .awake), Event(at: 2, phone: 1, .rung)] },
        missing: .sleep),
    WakingRow(
        name: "a limit", facts: facts { $0.events = [Event(at: 1, phone: 1, .notPushed("too many"))] },
        missing: .permission("too many")),
    WakingRow(
        name: "a wrong token",
        facts: facts {
            $0.events = [
                Event(at: 2, phone: 1, .pushed),
                Event(
                    at: 43, phone: 1,
                    .pushEnded(.tokenGone, reason: "UNREGISTERED", httpStatus: 404, milliseconds: 40)),
            ]
        }, missing: .acceptance(.fcm, .tokenGone, reason: "UNREGISTERED")),
    WakingRow(
        name: "no answer of the service", facts: until(2),
        missing: .acceptance(.fcm, .unavailable, reason: "it has not answered")),
    WakingRow(name: "never registering", facts: until(43), missing: .register(.fcm)),
    WakingRow(
        name: "the fourth wake",
        facts: {
            var facts = until(43)
            facts.wakesBefore = 3
            return facts
        }(), missing: .nextWake(.fcm, after: 3)),
    WakingRow(
        name: "slow", facts: until(43, Event(at: 45_002, phone: 1, .registered)),
        missing: .lateRegister(45_000)),
    WakingRow(
        name: "another phone", facts: until(43, Event(at: 1800, phone: 2, .registered)), missing: .samePhone),
    WakingRow(
        name: "another token", facts: facts { $0.after = [phone("bbb…222")] },
        missing: .sameToken(was: "aaa…111", now: "bbb…222")),
    WakingRow(
        name: "no token", facts: facts { $0.after = [phone(at: -60_000)] },
        missing: .sameToken(was: "aaa…111", now: "")),
    WakingRow(
        name: "binding gone", facts: facts { $0.after = [] }, missing: .sameToken(was: "aaa…111", now: "")),
    WakingRow(
        name: "another instance", facts: facts { $0.after = [phone("aaa…111", "urn:uuid:2")] },
        missing: .sameInstance(was: "urn:uuid:1", now: "urn:uuid:2")),
    WakingRow(
        name: "no instance", facts: facts { $0.after = [phone("aaa…111", "")] },
        missing: .sameInstance(was: "urn:uuid:1", now: "")),
    WakingRow(
        name: "three REGISTERs",
        facts: facts {
            $0.events += [
                Event(at: 1900, phone: 1, .registered), Event(at: 2100, phone: 1, .registered),
                Event(at: 5000, phone: 1, .registered),
            ]
        }, missing: .oneRegister(3)),
    WakingRow(name: "not sent", facts: until(1800), missing: .request),
    WakingRow(name: "silent", facts: until(1801), missing: .answer),
    WakingRow(name: "no ring", facts: until(1850), missing: .ringing),
    WakingRow(
        name: "busy at once", facts: until(1801, Event(at: 1850, phone: 1, .answered(486))),
        missing: .oneCall(status: 486, isAtOnce: true)),
    WakingRow(
        name: "declines by itself", facts: until(1850, Event(at: 3000, phone: 1, .answered(603))),
        missing: .oneCall(status: 603, isAtOnce: false)),
    WakingRow(
        name: "two copies", facts: until(1801, Event(at: 1802, phone: 1, .failed(482))),
        missing: .oneCall(status: 482, isAtOnce: true)),
    WakingRow(name: "rings on", facts: facts { $0.caller.ended = nil }, missing: .cancel),
    WakingRow(name: "ends late", facts: facts { $0.caller.ended = 9000 }, missing: .cancel),
]

@Suite struct `Report of a waking` {
    @Test func `names each step of a phone that wakes`() {
        let report = WakingReport(woken())
        #expect(report.missing == nil)
        #expect(
            report.findings.map(\.step) == [
                .binding, .push, .register, .token, .instance, .registers, .request, .answer, .end,
            ])
        #expect(report.findings.map(\.at) == [nil, 43, 1800, 1800, 1800, 1800, 1801, 1900, 6950])
    }

    @Test(arguments: rows) func `names the first step that is missing`(row: WakingRow) {
        let report = WakingReport(row.facts)
        #expect(report.missing == row.missing)
        #expect(report.findings.first { $0.isMissing }?.text == row.missing.meaning)
    }

    @Test(
        arguments: [
            (2, [.binding]), (43, [.binding, .push]), (2000, [.binding, .push, .register]),
            (2800, [.binding, .push, .register, .token, .instance, .registers, .request, .answer]),
        ] as [(Int64, [WakingReport.Step])])
    func `is certain of what cannot change while the call goes on`(at: Int64, steps: [WakingReport.Step]) {
        let report = WakingReport(
            facts {
                $0.events = $0.events.filter { $0.at <= at }
                $0.caller = WakingFacts.Caller(status: 0, text: "")
                $0.seenAt = at
            })
        #expect(report.certain.map(\.step) == steps)
    }

    @Test func `says what else happened behind the first one`() {
        let report = WakingReport(facts { $0.after = [phone("bbb…222")] })
        #expect(report.findings.contains { $0.step == .answer && !$0.isMissing })
    }

    @Test(arguments: [
        (WakingFacts.Caller(ringing: 1900, answer: 3000, ended: 3000, status: 200, text: ""), "answered"),
        (.init(ringing: 1900, ended: 3000, status: 603, text: ""), "declined"),
    ]) func `takes a person's answer for what it is`(caller: WakingFacts.Caller, word: String) {
        let report = WakingReport(
            facts {
                $0.caller = caller
                $0.events.append(Event(at: 3000, phone: 1, .answered(caller.status)))
            })
        #expect(report.missing == nil && report.findings.last?.text.contains(word) == true)
    }

    @Test func `is about the phone that came furthest`() {
        let report = WakingReport(
            facts {
                $0.before.append(phone("ccc…333", "urn:uuid:3"))
                $0.tokens[2] = "ccc…333"
                $0.events.insert(Event(at: 1, phone: 2, .pushed), at: 0)
                $0.events.insert(Event(at: 40, phone: 2, accepted), at: 2)
            })
        #expect(report.phone?.token == "aaa…111" && report.missing == nil)
    }

    @Test func `takes the answer to a text for its ringing`() {
        let report = WakingReport(
            facts {
                $0.method = "MESSAGE"
                $0.events = $0.events.filter { $0.at <= 1801 } + [Event(at: 1820, phone: 1, .answered(200))]
                $0.caller = WakingFacts.Caller(answer: 1821, ended: 1821, status: 200, text: "the text was taken")
            })
        #expect(report.missing == nil && report.findings.last?.text == "the phone takes the text")
    }

    private func early(_ registered: Int64?, _ outcome: Outcome = .accepted) -> WakingFacts.Early {
        WakingFacts.Early(
            outcome: outcome, reason: "", httpStatus: 200, milliseconds: 40, registered: registered, ahead: 20_000)
    }

    @Test func `knows a request that comes long after its push`() {
        #expect(WakingReport(facts { $0.early = early(900) }).missing == nil)
        #expect(WakingReport(facts { $0.early = early(nil) }).missing == .register(.fcm))
        #expect(
            WakingReport(facts { $0.early = early(nil, .rejected) }).missing == .acceptance(.fcm, .rejected, reason: "")
        )
        var declines = until(1801, Event(at: 1850, phone: 1, .answered(603)))
        declines.early = early(900)
        #expect(WakingReport(declines).missing == .lateRequest(status: 603, seconds: 20))
        var silent = until(1801)
        silent.early = early(900)
        #expect(WakingReport(silent).missing == .lateRequest(status: 0, seconds: 20))
    }

    @Test func `never takes an accepted push for a delivered one`() {
        for provider in Provider.allCases {
            let facts = facts {
                $0.before = [
                    .init(provider: provider, app: "a", token: "aaa…111", instance: "urn:uuid:1", registeredAt: 0)
                ]
            }
            let text = WakingReport(facts).findings.first { $0.step == .push }?.text ?? ""
            #expect(["not delivered yet", "does not say whether", "until the browser"].contains { text.contains($0) })
        }
    }

    @Test func `cleans what comes from packets`() {
        let report = WakingReport(facts { $0.after = [phone("aaa…111", "urn:\u{1B}[2J")] })
        #expect(report.findings.allSatisfy { !$0.text.contains("\u{1B}") })
    }

    @Test func `has a meaning, a remedy and an exit code for each kind`() {
        var codes: [Int32: String] = [:]
        for row in rows {
            #expect(!row.missing.meaning.isEmpty && !row.missing.remedy.isEmpty && row.missing.exitCode >= 10)
            let known = codes.updateValue(row.missing.name, forKey: row.missing.exitCode)
            let isSame = known == nil || known == row.missing.name || row.missing.exitCode == 18
            #expect(isSame)
        }
        #expect(codes.count == 16)
    }
}
