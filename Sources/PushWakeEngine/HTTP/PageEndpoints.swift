// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// The page at `/`, with its stylesheet and its script.
struct PageEndpoints {
    /// Requests of the overview, and traces of one search.
    private static let mostEntries = 50
    private static let mostTraces = 5

    let core: EngineCore

    var endpoints: [HTTPEndpoint] {
        [
            HTTPEndpoint(method: "GET", path: "/", audience: .operators) { answer($0) },
            HTTPEndpoint(method: "GET", path: "/style.css", audience: .operators) {
                $0.answer(ServedAnswer(200, type: "text/css; charset=utf-8", body: Array(PageAssets.style.utf8)))
            },
            HTTPEndpoint(method: "GET", path: "/live.js", audience: .operators) {
                let script = Array(PageAssets.script.utf8)
                $0.answer(ServedAnswer(200, type: "text/javascript; charset=utf-8", body: script))
            },
        ]
    }

    private func answer(_ call: HTTPCall) {
        var page = StatusPage(now: SystemClock.monotonicMilliseconds(), release: Release.version)
        page.query = Self.query(of: call.request)
        guard !page.query.isEmpty else {
            fillOverview(&page)
            return call.answer(Self.answer(page))
        }
        core.facts(of: page.query) { facts in
            fill(&page, facts)
            call.answer(Self.answer(page))
        }
    }

    /// Which user or Call-ID a request is about; empty for none.
    static func query(of request: ServedRequest) -> String {
        (request.query["q"] ?? "").split(separator: " ").joined(separator: " ")
    }

    private static func answer(_ page: StatusPage) -> ServedAnswer {
        ServedAnswer(
            200, type: "text/html; charset=utf-8", body: Array(page.html.utf8),
            headers: [.init(name: "content-security-policy", value: StatusPage.policy)])
    }

    private func fillOverview(_ page: inout StatusPage) {
        page.held = core.calls.live
        page.bindings = core.storeState.bindings
        page.loadLevel = Int(core.load.meter.level.rawValue)
        page.services = services
        page.traces = core.traces.newest(Self.mostEntries).compactMap { core.traces.trace(of: $0) }
    }

    private func fill(_ page: inout StatusPage, _ facts: DiagnosisFacts) {
        page.traces = core.traces.find(page.query, limit: Self.mostTraces).compactMap { core.traces.trace(of: $0) }
        // A Call-ID is nobody's name.
        let isUser = !facts.phones.isEmpty || !facts.removed.isEmpty || !facts.others.isEmpty
        if isUser || page.traces.contains(where: { $0.aor == CallTrace.shown(page.query) }) {
            page.diagnosis = UserDiagnosis(facts)
        }
    }

    private var services: [StatusPage.PushService] {
        let channels = core.delivery.channelList
        return HealthReport(core).providers.map { entry in
            let own = channels.filter { $0.provider == entry.provider }.map(\.channel.queue)
            let answers = core.times.providerAnswers[entry.provider]
            let mean = answers.flatMap { $0.total > 0 ? $0.sum / Int64(clamping: $0.total) / 1000 : nil }
            return StatusPage.PushService(
                name: entry.provider.name, state: entry.state.rawValue,
                connections: own.reduce(0) { $0 + $1.connections },
                waiting: own.reduce(0) { $0 + $1.count + $1.pausing }, meanAnswer: mean)
        }
    }
}
