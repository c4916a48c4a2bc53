// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Asks phones to register again before their registrations end (RFC 8599, 5.5).
///
/// What is due is read from the store as time goes on, in the order of the ends: a restart forgets nothing, and a
/// phone that has registered meanwhile, or whose binding is gone, is not found. No push follows an end.
final class RefreshWatch {
    /// Goes through the bindings of one kind.
    private struct Walk {
        /// Seconds before the end.
        let lead: Int64
        /// Phones that said `+sip.pnsreg`.
        let isOfOwnRefreshers: Bool
        /// All up to here had their push.
        var cursor: ExpiryCursor
    }

    /// Phones that refresh by themselves are pushed when they have not done it by then (RFC 8599, 5.5).
    private static let ownLead: Int64 = 120
    /// At most so many pushes in one look of each kind, so that many ends in one second make no burst.
    private static let batch = 50
    /// Milliseconds between two looks while more is due.
    private static let shortPause: Int64 = 100
    private static let longPause: Int64 = 1000
    /// Rows that are read in one turn while not all ends are known, some 3 ms, and milliseconds until the next turn.
    private static let learned = 1000
    private static let learningPause: Int64 = 5
    /// Seconds that a clock may be set back before the places are taken anew.
    private static let clockTolerance: Int64 = 60

    private let context: EngineContext
    private let store: any BindingStore
    private let outcomes: PushOutcomes
    private let delivery: Delivery
    private var walks: [Walk]
    /// The last look found a store that could not be read.
    private var hasFailed = false
    /// The store has read all ends once.
    private var knowsEnds = false

    /// Phones are asked `lead` seconds before the end.
    init(core: EngineCore, lead: Int64, now: Int64) {
        (context, store) = (core.context, core.store.own)
        (outcomes, delivery) = (core.outcomes, core.delivery)
        walks = [
            Walk(lead: lead, isOfOwnRefreshers: false, cursor: ExpiryCursor(time: now)),
            Walk(lead: min(lead, Self.ownLead), isOfOwnRefreshers: true, cursor: ExpiryCursor(time: now)),
        ]
    }

    /// Looks again and again as long as this object lives.
    func start() {
        let isMoreDue = look(now: context.loop.wallSeconds)
        let pause = isMoreDue ? Self.shortPause : Self.longPause
        context.loop.schedule(after: knowsEnds || hasFailed ? pause : Self.learningPause) { [weak self] in
            self?.start()
        }
    }

    /// Pushes what is due at `now`; true when there may be more. Under load nothing goes, and nothing is lost.
    func look(now: Int64) -> Bool {
        learnEnds()
        guard knowsEnds, context.refusal(of: .refresh) == nil else { return false }
        var isMoreDue = false
        for index in walks.indices where advance(&walks[index], now: now) { isMoreDue = true }
        return isMoreDue
    }

    private func learnEnds() {
        do throws(StoreError) {
            if try store.learnEnds(limit: Self.learned) { knowsEnds = true }
        } catch {
            fail(error)
        }
    }

    private func fail(_ error: StoreError) {
        // The next look finds them.
        if !hasFailed { context.log(.error, "phones cannot be asked to register for now: \(error)") }
        hasFailed = true
    }

    private func advance(_ walk: inout Walk, now: Int64) -> Bool {
        let end = ExpiryCursor(time: now.addingReportingOverflow(walk.lead).partialValue)
        if walk.cursor.time > end.time + Self.clockTolerance { walk.cursor = end }
        let begin = max(walk.cursor, ExpiryCursor(time: now))
        guard begin < end else { return false }
        do throws(StoreError) {
            let page = try store.ending(
                after: begin, by: end.time, refreshingThemselves: walk.isOfOwnRefreshers, limit: Self.batch)
            for ending in page.found {
                try push(ending.binding, lead: walk.lead, now: now)
                walk.cursor = ending.cursor
            }
            walk.cursor = page.reached
            hasFailed = false
            return page.reached < end
        } catch {
            fail(error)
            return false
        }
    }

    private func push(_ binding: Binding, lead: Int64, now: Int64) throws(StoreError) {
        // A shorter registration would be pushed for as soon as it is made.
        let (life, isEndless) = binding.expiresAt.subtractingReportingOverflow(binding.registeredAt)
        guard isEndless || life >= 2 * lead, delivery.canPush(binding) else { return }
        let kind = APNsTokenKind(context.settings)
        let binding = kind.named(binding)
        let bindings = kind.named(try store.bindings(of: binding.aor, now: now))
        let plan = Plan(.refresh, bindings, isAwake: bindings.map { _ in false })
        guard let chosen = plan.pushes.first(where: { bindings[$0.index] == binding }) else { return }
        let left = binding.expiresAt - now
        let content = PushContent(
            event: .refresh, callID: context.makeCallID(), toURI: binding.aor,
            timeToLive: UInt32(clamping: left), sentAt: now)
        context.statistics.pushed += 1
        delivery.push(
            Push(binding, content, type: chosen.type, deadline: context.loop.now + left * 1000), owner: outcomes)
    }
}
