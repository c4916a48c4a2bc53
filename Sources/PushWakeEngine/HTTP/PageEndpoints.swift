// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// The pages of `/`, with their stylesheet, script and pictures.
struct PageEndpoints {
    /// Requests of the overview and of a page of calls, those that are looked through for one, and traces of one search.
    private static let mostNew = 15
    private static let mostEntries = 50
    private static let mostLooked = 2000
    private static let mostTraces = 5
    /// Phones of one page.
    private static let mostPhones = 50

    let context: EngineContext
    let queries: Queries
    let questions: EngineQuestions
    /// What the overview shows besides calls.
    let overview: () -> Overview

    var endpoints: [HTTPEndpoint] {
        [
            HTTPEndpoint(method: "GET", path: "/", audience: .operators) { showOverviewOrFindings($0) },
            HTTPEndpoint(method: "GET", path: "/calls", audience: .operators) { showCalls($0) },
            HTTPEndpoint(method: "GET", path: "/phones", audience: .operators) { showPhones($0) },
            HTTPEndpoint(method: "GET", path: "/call.svg", audience: .operators) { showPicture($0) },
            // A refusal looks like the other pages.
            asset("/style.css", "text/css; charset=utf-8", PageAssets.style, for: .everybody),
            asset("/icon.svg", "image/svg+xml", PageAssets.icon, for: .everybody),
            asset("/live.js", "text/javascript; charset=utf-8", PageAssets.script, for: .operators),
        ]
    }

    private func asset(_ path: String, _ type: String, _ text: String, for audience: HTTPAudience) -> HTTPEndpoint {
        HTTPEndpoint(method: "GET", path: path, audience: audience) {
            $0.answer(ServedAnswer(200, type: type, body: Array(text.utf8)))
        }
    }

    /// Which user or Call-ID a request is about; empty for none.
    static func query(of request: ServedRequest) -> String { PageQuery.name(request.query["q"] ?? "") }

    private var clock: PageClock {
        let zone = SystemClock.zone()
        return PageClock(
            now: SystemClock.monotonicMilliseconds(), wall: SystemClock.wallSeconds(), offset: zone.offset,
            zone: zone.name)
    }

    private func answer(_ call: HTTPCall, _ content: StatusPage.Content) {
        let node = context.settings.text(.nodeURI)
        let page = StatusPage(
            content, clock: clock, release: Release.version,
            host: node.isEmpty ? SystemName.host : "\(SystemName.host), \(node)")
        call.answer(.page(200, page.html))
    }

    private func pageCalls(_ ids: [TraceID]) -> [PageCall] {
        ids.compactMap { id in context.traces.trace(of: id).map { PageCall($0, number: id.sequence) } }
    }

    // MARK: Overview

    private func showOverviewOrFindings(_ call: HTTPCall) {
        let name = Self.query(of: call.request)
        guard name.isEmpty else { return showFindings(call, name) }
        var overview = overview()
        overview.calls = pageCalls(context.traces.newest(Self.mostNew))
        answer(call, .overview(overview))
    }

    // MARK: Calls

    private func showCalls(_ call: HTTPCall) { answer(call, .calls(calls(CallFilter { call.request.query[$0] }))) }

    private func calls(_ filter: CallFilter) -> CallList {
        let now = SystemClock.monotonicMilliseconds()
        var (found, last): ([PageCall], UInt64?) = ([], nil)
        for id in context.traces.newest(Self.mostLooked, before: filter.before) {
            guard let trace = context.traces.trace(of: id) else { continue }
            if filter.isOlder(trace, now: now) { return CallList(filter, found, next: nil) }
            last = id.sequence
            guard filter.admits(trace, now: now) else { continue }
            found.append(PageCall(trace, number: id.sequence))
            if found.count == Self.mostEntries { break }
        }
        let next = last.flatMap { context.traces.newest(1, before: $0).isEmpty ? nil : $0 }
        return CallList(filter, found, next: next)
    }

    private func showPicture(_ call: HTTPCall) {
        guard let number = call.request.query["number"].flatMap({ UInt64($0) }),
            let trace = context.traces.trace(of: context.traces.id(number))
        else { return call.answer(.problem(404, "this call is forgotten", for: call.request)) }
        let picture = SequencePicture(trace).document("\(trace.method) to \(trace.aor)")
        call.answer(
            ServedAnswer(
                200, type: "image/svg+xml", body: Array(picture.utf8),
                headers: [.init(name: "content-disposition", value: "attachment; filename=\"call-\(number).svg\"")]))
    }

    // MARK: Phones

    private func showPhones(_ call: HTTPCall) {
        let filter = PhoneFilter { call.request.query[$0] }
        list(filter) { answer(call, .phones($0)) }
    }

    private func list(_ filter: PhoneFilter, _ done: @escaping (PhoneList) -> Void) {
        var conditions = ListingConditions()
        do throws(ListingConditions.Mistake) {
            if !filter.user.isEmpty { try conditions.add("part", filter.user) }
            if let choice = filter.choice { try conditions.add(choice.condition.name, choice.condition.value) }
        } catch {
            return done(PhoneList(filter, [], next: nil, problem: error.message))
        }
        search(conditions).run(from: filter.cursor) { phones, next, problem in
            done(PhoneList(filter, phones, next: next, problem: problem))
        }
    }

    private func search(_ conditions: ListingConditions) -> PhoneSearch {
        PhoneSearch(questions, conditions, most: Self.mostPhones, on: context.loop)
    }

    // MARK: One user or call

    private func showFindings(_ call: HTTPCall, _ name: String) {
        queries.facts(of: name) { facts in
            var findings = Findings(name)
            findings.calls = pageCalls(context.traces.find(name, limit: Self.mostTraces))
            let isBound = !facts.phones.isEmpty || !facts.removed.isEmpty
            guard isBound || !facts.others.isEmpty || !findings.calls.isEmpty else {
                return showSimilar(call, findings)
            }
            // A Call-ID is nobody's name.
            if isBound || !facts.others.isEmpty
                || findings.calls.contains(where: { $0.trace.aor == CallTrace.shown(name) })
            {
                findings.diagnosis = UserDiagnosis(facts)
            }
            guard isBound else { return answer(call, .findings(findings)) }
            findings.canTry = !facts.phones.isEmpty && TryEndpoint.canTry(name)
            // The facts come in the middle of an answer of the engine's.
            context.loop.schedule(after: 0) {
                var own = ListingConditions()
                // A name that is no condition has nothing bound.
                try? own.add("aor", name)
                search(own).run(from: "") { phones, _, _ in
                    findings.phones = phones.filter { $0.user == name }
                    answer(call, .findings(findings))
                }
            }
        }
    }

    /// One user's phones lead to the user's page.
    private func answer(_ call: HTTPCall, _ phones: PhoneList) {
        let users = Set(phones.phones.map(\.user))
        guard users.count == 1, phones.next == nil, let user = users.first else { return answer(call, .phones(phones)) }
        call.answer(ServedAnswer(303, headers: [.init(name: "location", value: PageQuery.place(of: user))]))
    }

    /// Nobody has this name: a Call-ID without its host, or a part of a user.
    private func showSimilar(_ call: HTTPCall, _ nothing: Findings) {
        let start = "\(nothing.name)@"
        let known = context.traces.newest(TraceRing.capacity)
        var findings = nothing
        findings.calls = pageCalls(
            Array(known.lazy.filter { context.traces.callID(of: $0).hasPrefix(start) }.prefix(Self.mostTraces)))
        guard findings.calls.isEmpty else { return answer(call, .findings(findings)) }
        var filter = PhoneFilter()
        filter.user = nothing.name
        context.loop.schedule(after: 0) {
            list(filter) { phones in
                guard phones.phones.isEmpty else { return answer(call, phones) }
                var filter = CallFilter()
                filter.user = nothing.name
                let calls = calls(filter)
                answer(call, calls.calls.isEmpty ? .findings(nothing) : .calls(calls))
            }
        }
    }
}
