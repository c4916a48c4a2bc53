// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Answers questions page by page: of shell, RPC, CLI, HTTP and page. It changes nothing itself.
final class Queries {
    let context: EngineContext
    let store: StoreAccess
    let outcomes: PushOutcomes
    let requests: RequestRunner
    let registrations: Registrations
    let upstream: UpstreamService
    let delivery: Delivery
    private let pages: PageQueue
    /// Sends the traces to a HEP server; nil where there is none.
    var capture: TraceCapture?
    /// What the times of calls and the number of bindings were in the last hour.
    var hour = LastHour()
    /// Reads all again that can be read again, and says what came of it.
    var onReload: (() -> [ReloadNote])?
    /// Users that are asked of the store at once.
    private static let usersPerLook = 20
    /// How long a page may take.
    private static let pageMicroseconds: Int64 = 1000

    init(
        _ context: EngineContext, _ store: StoreAccess, _ outcomes: PushOutcomes, _ requests: RequestRunner,
        _ registrations: Registrations, _ upstream: UpstreamService, _ delivery: Delivery
    ) {
        (self.context, self.store, self.outcomes) = (context, store, outcomes)
        (self.requests, self.registrations) = (requests, registrations)
        (self.upstream, self.delivery, pages) = (upstream, delivery, registrations.pages)
    }

    /// Answers one question, now or later.
    func answer(_ question: Question) {
        let argument = question.text(.argument)
        let cursor = question.text(.cursor)
        do throws(StoreError) {
            switch EngineQuery(rawValue: Int(truncatingIfNeeded: question.number(.query))) {
            case .stats: try stats(question)
            case .bindings: try bindings(question, ListingConditions(aor: argument), after: cursor)
            case .find: try bindings(question, argument, after: cursor)
            case .removeFound: removeFound(question, argument)
            case .reload: reload(question)
            case .trace: trace(question, argument, after: cursor)
            case .export:
                try bindings(question, ListingConditions(), after: cursor, as: .document(argument == "secrets"))
            case .restore: registrations.restore(question, argument, after: cursor)
            case .nodes: nodes(question)
            case .explain: explain(question, aor: argument)
            case .diagnose: diagnose(question, argument)
            case nil: question.fail("unknown query; install engine and module of one release")
            }
        } catch {
            question.fail(error)
        }
    }

    private func stats(_ question: Question) throws(StoreError) {
        let count = store.shared == nil ? try store.own.count() : nil
        question.reply { writer in
            writer.put(.row, 1)
            if store.shared != nil { writer.column("node", NodeName.of(context.settings)) }
            // Nobody counts those that nodes share.
            if let count { writer.column("bindings", Int64(count)) }
            writer.column("registers_waiting", Int64(registrations.registersWaiting))
            writer.column("requests_held", Int64(requests.calls.live))
            writer.column("requests_kept", Int64(requests.calls.count))
            writer.column("requests_dropped", Int64(requests.calls.forgottenEarly))
            writer.column("queued", Int64(delivery.queued))
            put(load: delivery.queues, &writer)
            if let upstream = upstream.keeper, upstream.accounts.count > 0 || upstream.sent > 0 {
                writer.column("upstream_accounts", Int64(upstream.accounts.count))
                writer.column("upstream_sent", Int64(upstream.sent))
                writer.column("upstream_refused", Int64(upstream.refused))
            }
            for row in context.statistics.rows() { writer.column(row.name, row.value) }
            if let counters = capture?.counters {
                writer.column("hep_sent", counters.sent)
                writer.column("hep_dropped", counters.dropped)
            }
        }
    }

    private func put(load queues: ChannelQueues, _ writer: inout MessageWriter) {
        writer.column("waiting", Int64(queues.waiting))
        writer.column("in_flight", Int64(queues.inFlight))
        writer.column("providers_backed_off", Int64(queues.held))
        writer.column("load_level", Int64(context.load.meter.level.rawValue))
        writer.column("load_queue_percent", Int64(context.load.meter.sample.queueFill))
        writer.column("load_lag_ms", context.load.meter.sample.lag)
        writer.column("load_cpu_percent", Int64(context.load.meter.sample.cpu))
    }

    private func bindings(_ question: Question, _ lines: String, after cursor: String) throws(StoreError) {
        guard let conditions = conditions(question, lines) else { return }
        try bindings(question, conditions, after: cursor)
    }

    /// Nil when the peer was told what does not fit.
    private func conditions(_ question: Question, _ lines: String) -> ListingConditions? {
        do throws(ListingConditions.Mistake) {
            return try ListingConditions(lines: lines)
        } catch {
            question.fail(error.message)
            return nil
        }
    }

    private func bindings(
        _ question: Question, _ conditions: ListingConditions, after cursor: String, as form: RowForm = .listing
    ) throws(StoreError) {
        if store.shared != nil { return sharedPage(question, conditions, BindingsPage(cursor), form) }
        guard conditions.aor.isEmpty else { return try page(question, conditions, BindingsPage(cursor), form) }
        pages.add { [weak self] in
            guard let self, question.isAwaited else { return }
            do throws(StoreError) {
                try page(question, conditions, BindingsPage(cursor), form)
            } catch {
                question.fail(error)
            }
        }
    }

    /// How a binding is written.
    private enum RowForm {
        case listing
        /// A line of JSON; true: with secrets.
        case document(Bool)
    }

    private func page(
        _ question: Question, _ conditions: ListingConditions, _ page: BindingsPage, _ form: RowForm
    ) throws(StoreError) {
        try question.reply { (writer) throws(StoreError) in
            if let next = try fill(&writer, conditions, from: page, form) { writer.put(.cursor, next.cursor) }
        }
    }

    /// Puts as many rows as fit a page and its time; gives where the next page begins, nil after the last row.
    private func fill(
        _ writer: inout MessageWriter, _ conditions: ListingConditions, from page: BindingsPage, _ form: RowForm
    ) throws(StoreError) -> BindingsPage? {
        let now = SystemClock.wallSeconds()
        let listing = BindingListing(conditions, outcomes, now: now)
        let end = SystemClock.monotonicMicroseconds() + Self.pageMicroseconds
        let aor = conditions.aor
        var (place, skipped) = (page.user, page.skipped)
        while true {
            let users = aor.isEmpty ? try store.own.aors(after: place, limit: Self.usersPerLook, now: now) : [aor]
            for user in users {
                let found = try listing.rows(of: user, in: store.own)
                for (index, var row) in found.enumerated().dropFirst(skipped) {
                    guard writer.bytes.count < Self.pageBytes else { return BindingsPage(user: place, skipped: index) }
                    if case .listing = form, row.removed.isEmpty {
                        row.others = try store.own.users(withTokenOf: row.binding)
                    }
                    put(row, now, form, &writer)
                }
                (place, skipped) = (user, 0)
                if aor.isEmpty, SystemClock.monotonicMicroseconds() > end { return BindingsPage(user: place) }
            }
            guard aor.isEmpty, !users.isEmpty else { return nil }
        }
    }

    /// Where a page of bindings begins: behind this user, and so many rows further.
    private struct BindingsPage {
        let user: String
        let skipped: Int

        init(user: String, skipped: Int = 0) {
            self.user = user
            self.skipped = skipped
        }

        init(_ cursor: String) {
            let end = cursor.lastIndex(of: " ") ?? cursor.startIndex
            self.init(user: String(cursor[..<end]), skipped: max(0, Int(cursor[end...].dropFirst()) ?? 0))
        }

        var cursor: String { "\(user) \(skipped)" }
    }

    /// Lists the nodes that share the store.
    func nodes(_ question: Question) {
        guard let shared = store.shared else {
            return question.fail("this engine shares its store with nobody; set store to a server's address")
        }
        let own = NodeName.of(context.settings)
        shared.nodes { result in
            switch result {
            case .failure(let error): question.fail(error)
            case .success(let nodes):
                let now = SystemClock.wallSeconds()
                question.reply { writer in
                    for node in nodes {
                        writer.put(.row, 1)
                        writer.column("node", node.name)
                        writer.column("version", node.version)
                        writer.column("running_for", max(0, now &- node.startedAt))
                        writer.column("is_this", node.name == own ? "yes" : "")
                        let shared = node.name == own ? shared.sharedNames : []
                        writer.column(
                            "problem", shared.isEmpty ? "" : "another is \(shared.joined(separator: ", and ")) as well")
                    }
                }
            }
        }
    }

    /// Says whose device a PURR names; nobody's when it names none.
    func purrUser(_ question: Question) {
        let text = question.text(.purr)
        guard context.settings.flag(.purr), let purr = PURR(text) else {
            return question.reply { _ in }
        }
        store.ask(aboutPURR: purr) { [self] (store) throws(StoreError) in
            try self.store.device(ofPURR: text, in: store)
        } then: {
            result in
            switch result {
            case .success(let device):
                question.reply { writer in
                    if let device { writer.put(.aor, device.aor) }
                }
            case .failure(let error): question.fail(error, storeCannotBe: "read")
            }
        }
    }

    private func explain(_ question: Question, aor: String) {
        var request: [UInt8] = []
        var fields = question.message
        while let field = fields.next() {
            if field.tag == .text { request = Array(fields.bytes[field.range]) }
        }
        store.ask(about: aor) { (store) throws(StoreError) in
            try store.bindings(of: aor, now: SystemClock.wallSeconds())
        } then: { [self] result in
            switch result {
            case .success(let bindings): explain(question, aor, request, bindings)
            case .failure(let error): question.fail(error)
            }
        }
    }

    private func explain(_ question: Question, _ aor: String, _ request: [UInt8], _ bindings: [Binding]) {
        let event = PushEvent(name: question.text(.name))
        do throws(PushExplanation.Failure) {
            let explanation = try PushExplanation.explain(
                bindings, of: aor, request: request, event: event,
                wanted: APNsPushType(name: question.text(.pushType)), settings: context.settings)
            question.reply { writer in
                writer.put(.text, explanation.json.span)
                for problem in explanation.problems { writer.put(.problem, problem) }
            }
        } catch {
            question.fail(error.message)
        }
    }

    private func removeFound(_ question: Question, _ lines: String) {
        guard let conditions = conditions(question, lines) else { return }
        guard !conditions.aor.isEmpty else {
            return question.fail("whose bindings? name the user with aor=")
        }
        registrations.remove(question, conditions)
    }

    /// A page of bindings that nodes share: users come in the server's order, and each is read by itself.
    private func sharedPage(
        _ question: Question, _ conditions: ListingConditions, _ page: BindingsPage, _ form: RowForm
    ) {
        guard conditions.aor.isEmpty else {
            return sharedRows(of: [conditions.aor], page, next: nil, question, conditions, form)
        }
        store.shared?.users(after: page.user, beginning: conditions.beginning, limit: Self.usersPerLook) {
            [weak self] result in
            guard let self, question.isAwaited else { return }
            switch result {
            case .success((let aors, let next)):
                sharedRows(of: aors, page, next: next, question, conditions, form)
            case .failure(let error): question.fail(error)
            }
        }
    }

    private func sharedRows(
        of aors: [String], _ page: BindingsPage, next: String?, _ question: Question,
        _ conditions: ListingConditions, _ form: RowForm
    ) {
        var found = [[BindingListing.Row]](repeating: [], count: aors.count)
        var left = aors.count
        var failure: StoreError?
        let now = SystemClock.wallSeconds()
        let listing = BindingListing(conditions, outcomes, now: now)
        let finish: () -> Void = { [self] in
            if let failure {
                return question.fail(failure)
            }
            question.reply { writer in
                for (index, row) in found.joined().enumerated().dropFirst(page.skipped) {
                    guard writer.bytes.count < Self.pageBytes else {
                        return writer.put(.cursor, BindingsPage(user: page.user, skipped: index).cursor)
                    }
                    put(row, now, form, &writer)
                }
                if let next { writer.put(.cursor, BindingsPage(user: next).cursor) }
            }
        }
        guard left > 0 else { return finish() }
        for (index, aor) in aors.enumerated() {
            store.ask(about: aor) { (store) throws(StoreError) in
                try listing.rows(of: aor, in: store)
            } then: { [self] result in
                switch result {
                case .success(let rows):
                    found[index] = rows
                    left += rows.count
                    for row in rows.indices {
                        store.shared?.user(ofTokenOf: rows[row].binding) {
                            found[index][row].others = $0.map { [$0] } ?? []
                            left -= 1
                            if left == 0 { finish() }
                        }
                    }
                case .failure(let error): failure = error
                }
                left -= 1
                if left == 0 { finish() }
            }
        }
    }

    private func reload(_ question: Question) {
        let notes = onReload?() ?? delivery.reload().map { .problem($0) }
        // The log has all.
        let left = notes.count - Self.mostNotes
        let rest = left > 0 ? [ReloadNote.problem("and \(left) more, which are in the log")] : []
        question.reply { writer in
            for note in notes.prefix(Self.mostNotes) + rest {
                writer.put(.row, 1)
                writer.column(note.column, note.text)
            }
        }
    }

    /// Notes for which an answer has room.
    private static let mostNotes = 100

    private func put(_ row: BindingListing.Row, _ now: Int64, _ form: RowForm, _ writer: inout MessageWriter) {
        let binding = row.binding
        if case .document(let withSecrets) = form {
            let line = BindingDocument.write(binding, withSecrets: withSecrets, shortened: EngineLog.shortened)
            writer.put(.row, 1)
            writer.put(.name, "json")
            return writer.put(.text, line.span)
        }
        writer.put(.row, 1)
        writer.column("aor", binding.aor)
        writer.column("provider", binding.provider.name)
        writer.column("environment", binding.environment.name)
        writer.column("app", binding.app)
        writer.column("service", binding.service?.name ?? "")
        writer.column("token", EngineLog.shortened(binding.token))
        writer.column("dialect", binding.dialect.name)
        if let choice = payloadChoice(for: binding) {
            writer.column("payload", choice.payload)
            writer.column("payload_reason", choice.reason)
        }
        writer.column("instance", binding.instance)
        writer.column("contact", binding.contactWithoutPushParameters)
        writer.column("registered_ago", max(0, now &- binding.registeredAt))
        writer.column("expires_in", max(0, binding.expiresAt &- now))
        writer.column("removed", row.removed)
        writer.column("shared_with", row.others.joined(separator: " "))
        if store.shared != nil { writer.column("node", NodeRoute.node(of: binding.route)) }
        put(row.record, &writer)
    }

    /// What the pushes of a phone carry, and why; nil before templates are read.
    func payloadChoice(for binding: Binding) -> PayloadLibrary.Choice? {
        delivery.payloads?.choice(for: binding, webhook: context.policy.others, flexiAPI: context.policy.flexiAPI)
    }

    /// -1 stands for what is not known.
    private func put(_ record: WakeRecord, _ writer: inout MessageWriter) {
        let now = context.loop.now
        writer.column("last_push_ago", WakeRecords.ago(record.lastPush, now: now) ?? -1)
        writer.column("last_wake_ago", WakeRecords.ago(record.lastWake, now: now) ?? -1)
        writer.column("accepted", Int64(record.accepted))
        writer.column("woke", Int64(record.woke))
        writer.column("wake_percent", record.wakePercent.map(Int64.init) ?? -1)
        writer.column("wake_ms", record.meanLatency ?? -1)
        writer.column("verdict", record.assessment.words)
    }
}
