// SPDX-License-Identifier: MIT

import ArgumentParser
import PushWakeCanary
import PushWakeClient
import PushWakeCore
import PushWakeSystem
import PushWakeTransport

/// Calls a user through the PBX and collects what engine and caller see of it.
struct WakingTrial {
    /// One call or text.
    struct Round {
        let callID: String
        let report: WakingReport
    }

    /// Milliseconds: from one look at the engine to the next, and how long a phone is waited for that the caller has not.
    private static let pause: Int32 = 100
    private static let longestLateness: Int64 = 20_000
    /// How long the engine may take to hear of the end of a request.
    private static let settling: Int64 = 2000

    private let client: EngineClient
    private let way: CallOptions
    private let account: CanaryPlan.Account?
    private let uri: String
    private let content: CanaryPlan.Content
    private let within: Int64
    private let ringTime: Int64
    private let late: Int64?
    private var wakes = 0

    /// Reads settings and account; times in milliseconds.
    init(
        _ options: SettingsOptions, _ way: CallOptions, uri: String, content: CanaryPlan.Content, within: Int64,
        ringTime: Int64, late: Int64?
    ) throws {
        client = EngineClient(settings: try options.load())
        account = try way.readAccount()
        (self.way, self.uri, self.content) = (way, uri, content)
        (self.within, self.ringTime, self.late) = (within, ringTime, late)
    }

    /// What is sent.
    var method: String { content == .text ? "MESSAGE" : "INVITE" }

    /// Wakes the phone once; `show` gets the steps so far each time there is another, and all of them at the end.
    mutating func play(_ show: (ArraySlice<WakingReport.Finding>) -> Void) throws -> Round {
        let callID = "try-\(Hex.encode(Crypto.randomBytes(12)))"
        var facts = WakingFacts(caller: WakingFacts.Caller(status: 0, text: ""))
        facts.method = method
        facts.wakesBefore = wakes
        let (aor, phones, removed) = try bindings()
        facts.before = phones
        facts.removed = removed
        show(WakingReport(facts).certain)
        if !phones.isEmpty {
            if let late { facts.early = try pushAhead(late, aor, callID) }
            if facts.early?.registered != nil || late == nil { try call(callID, aor, &facts, show) }
        }
        let report = WakingReport(facts)
        show(report.findings[...])
        if report.missing == nil { wakes += 1 }
        return Round(callID: callID, report: report)
    }

    private func call(
        _ callID: String, _ aor: String, _ facts: inout WakingFacts, _ show: (ArraySlice<WakingReport.Finding>) -> Void
    ) throws {
        var plan = way.plan(to: uri, callID, account)
        // A PBX may tell its callers that it rings before any phone does: the trace knows.
        (plan.content, plan.timeout, plan.goal) = (content, within, .answer)
        let began = Moment.now()
        var rangAt: Int64?
        let result = way.play(plan) {
            let now = Moment.now()
            if let trace = try? trace(callID, aor, since: began) {
                (facts.events, facts.tokens, facts.seenAt) = (trace.events, trace.tokens, now - began)
            }
            if facts.events.contains(where: { $0.what == .registered }) {
                facts.after = (try? bindings(began).phones) ?? []
            }
            show(WakingReport(facts).certain)
            if rangAt == nil, facts.events.contains(where: \.isRinging) { rangAt = now }
            return rangAt.map { now - $0 >= ringTime } ?? false
        }
        facts.seenAt = nil
        facts.caller = WakingFacts.Caller(
            ringing: result.ringing, answer: result.answer, cancelled: result.cancelled, ended: result.ended,
            status: result.status, text: result.text)
        let ended = Moment.now()
        while true {
            let trace = try trace(callID, aor, since: began)
            facts.events = trace?.events ?? []
            facts.tokens = trace?.tokens ?? [:]
            let now = Moment.now()
            if now - ended >= wait(for: trace, now - began) { break }
            SystemClock.wait(milliseconds: Self.pause)
        }
        facts.after = try bindings(began).phones
    }

    /// How long after the end of the call something may still come; 0 when nothing can.
    private func wait(for trace: WakingTrace?, _ age: Int64) -> Int64 {
        guard let trace else { return Self.settling }
        if let came = trace.events.first(where: { $0.what == .registered }) {
            // More REGISTERs may follow within a second.
            return trace.isOver && age > came.at + 1000 ? 0 : Self.settling
        }
        let isAccepted = trace.events.contains {
            if case .pushEnded(.accepted, _, _, _) = $0.what { true } else { false }
        }
        return isAccepted ? min(within, Self.longestLateness) : trace.isOver ? 0 : Self.settling
    }

    // MARK: Questions to the engine

    /// A user may be written with domain or without.
    private var names: [String] {
        let address = uri.dropFirst(4).prefix { $0 != ";" && $0 != "?" }
        let user = address.prefix { $0 != "@" }
        let domain = address.dropFirst(user.count + 1)
        let host = domain.hasPrefix("[") ? domain.prefix { $0 != "]" } + "]" : domain.prefix { $0 != ":" }
        return [String(user), "\(user)@\(host)"]
    }

    private func bindings(
        _ began: Int64 = Moment.now()
    ) throws -> (aor: String, phones: [WakingFacts.Phone], removed: String) {
        var gone = ""
        for name in names {
            let rows = try Engine.rows(client, .bindings, name) ?? []
            let offset = Moment.now() - began
            let phones = rows.filter { $0.word("removed").isEmpty }.compactMap { row in
                Provider.allCases.first { $0.name == row.word("provider") }.map {
                    WakingFacts.Phone(
                        provider: $0, app: row.word("app"), token: row.word("token"), instance: row.word("instance"),
                        registeredAt: offset - row.number("registered_ago") * 1000)
                }
            }
            if !phones.isEmpty { return (name, phones, "") }
            gone = rows.first?.word("removed") ?? gone
        }
        return (names[0], [], gone)
    }

    /// A PBX that makes a call of its own for the phone, as Asterisk does, has another Call-ID there.
    private func trace(_ callID: String, _ aor: String, since began: Int64) throws -> WakingTrace? {
        if let rows = try Engine.rows(client, .trace, callID) { return WakingTrace(rows) }
        guard let rows = try Engine.rows(client, .trace, aor), let header = rows.first else { return nil }
        let age = header.number("started_ago") * 1000
        return header.word("method") == method && age <= Moment.now() - began ? WakingTrace(rows) : nil
    }

    /// Pushes by hand, and waits for the REGISTER until the time of the call.
    private func pushAhead(_ ahead: Int64, _ aor: String, _ callID: String) throws -> WakingFacts.Early {
        let began = Moment.now()
        let before = try bindings(began).phones
        client.begin(.send)
        client.put(.event, Int64((content == .text ? PushEvent.chat : .call).rawValue))
        client.put(.aor, aor)
        client.put(.callID, callID)
        client.put(.fromURI, way.plan(to: uri, callID, account).caller)
        client.put(.waits, 1)
        client.put(.seconds, 30)
        let rows = EngineClient.rows(of: try Engine.answer(client, milliseconds: 32_000))
        let row = rows.first { $0.word("outcome") == Outcome.accepted.name } ?? rows.first ?? []
        let outcome = Outcome.allCases.first { $0.name == row.word("outcome") } ?? .rejected
        var registered: Int64?
        while outcome == .accepted, Moment.now() - began < ahead {
            let newest = try bindings(began).phones.map(\.registeredAt).max() ?? .min
            // What is stored anew moves its time, which is known to the second.
            if registered == nil, let old = before.map(\.registeredAt).max(), newest > old + 1000 {
                registered = Moment.now() - began
            }
            SystemClock.wait(milliseconds: Self.pause)
        }
        return WakingFacts.Early(
            outcome: outcome, reason: row.word("reason"), httpStatus: Int(row.number("status")),
            milliseconds: row.number("ms"), registered: registered, ahead: ahead)
    }
}

extension [EngineField] {
    /// The text of a column; empty when there is none.
    func word(_ name: String) -> String { first { $0.name == name }?.text ?? "" }

    /// The number of a column; 0 when there is none.
    func number(_ name: String) -> Int64 { first { $0.name == name }?.number ?? 0 }
}
