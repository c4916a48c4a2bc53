// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Does what a REGISTER, a report, an import and a removal do to bindings, and tells the requests of their users.
final class Registrations {
    let context: EngineContext
    let store: StoreAccess
    let outcomes: PushOutcomes
    let pushes: CallPushes
    let requests: RequestRunner
    let upstream: UpstreamService
    /// Long listings, and restores, of which each turn makes one page.
    let pages: PageQueue
    /// REGISTERs that the store of this process has yet to take.
    var late = RegisterBacklog<LateRegister>(most: mostLateRegisters)
    /// About 2 kB each.
    private static let mostLateRegisters = 10_000
    /// Why the last REGISTER of a user stored nothing.
    private(set) var refusals = RecentReasons<String>()
    var nullTokenPhones = NullTokenPhones()
    /// Their tokens are new to their users; who else has them is to be looked for.
    var unclaimed = Gathering<Binding>()
    let claimLines: LimitedLines
    private static let defaultExpires: Int64 = 3600

    init(
        _ context: EngineContext, _ store: StoreAccess, _ outcomes: PushOutcomes, _ pushes: CallPushes,
        _ requests: RequestRunner, _ upstream: UpstreamService
    ) {
        (self.context, self.store, self.outcomes) = (context, store, outcomes)
        (self.pushes, self.requests, self.upstream) = (pushes, requests, upstream)
        pages = PageQueue(loop: context.loop)
        claimLines = LimitedLines(context.log)
    }

    /// Stores what a phone said when it registered, and lets those go on who wait for it.
    func register(_ question: Question) {
        context.statistics.registers += 1
        let (registration, granted, host) = read(question.message)
        if !host.account.isEmpty { upstream.keeper?.note(account: host.account, aor: registration.aor) }
        let now = SystemClock.wallSeconds()
        guard store.shared != nil else {
            let result = keepNow(question.message, of: registration.aor) { (store) throws(StoreError) in
                try keep(registration, granted, host, in: store, now)
            }
            return answer(result, registration, host, to: question)
        }
        store.ask(about: registration.aor, keepsTrying: true, announcing: self.notice(of: registration, host)) {
            [self] (store) throws(StoreError) in
            try keep(registration, granted, host, in: store, now)
        } then: { [self] in
            answer($0, registration, host, to: question)
        }
    }

    private func answer(
        _ result: Result<Kept, StoreError>, _ registration: Registration, _ host: RegisteringHost, to question: Question
    ) {
        switch result {
        case .success(let kept):
            answer(registration, host, kept, to: question)
            // ORDER: nobody waits for it.
            noteClaims(kept.bound.newTokens, alsoNoting: kept.bound.dueTokens)
        case .failure(let error):
            store.logFailure(
                "the bindings of a phone could not be stored \(EngineLog.names(registration.aor, registration.callID)): \(error)"
            )
            // The phone is there all the same.
            requests.dispatch(tellRequests(of: registration, host))
            question.fail(error, storeCannotBe: "written")
        }
    }

    /// What a REGISTER has come to in the store.
    struct Kept {
        let removed: [Binding]
        let bound: Bound
        let stale: [String]
        let purrs: [Provider: PURR]
    }

    /// What has become of the tokens of a REGISTER.
    struct Bound {
        var stored: [Binding] = []
        /// Contacts that their phones leave.
        var replaced: [String] = []
        /// What of `stored` has a token that the user did not have.
        var newTokens: [Binding] = []
        /// What of the others a store that nodes share is to be told of again.
        var dueTokens: [Binding] = []
        /// A later REGISTER of the phone was faster.
        var isOvertaken = false
        /// Contacts of the REGISTER that were granted too little, by their place.
        var brief: [Int] = []
    }

    func keep(
        _ registration: Registration, _ granted: Int64, _ host: RegisteringHost, in store: any BindingStore,
        _ now: Int64
    ) throws(StoreError) -> Kept {
        var stale = try leftContacts(registration, in: store, now)
        let removed = registration.isPushedUpstream ? [] : try unbind(registration, in: store, now)
        let bound = try bind(registration, granted, host, in: store, now)
        stale.take(bound.replaced)
        noteLeft(bound.replaced, registration, host)
        return Kept(
            removed: removed, bound: bound, stale: Self.withoutNamed(stale, registration),
            purrs: purrs(of: registration, bound.stored, in: store, now: now))
    }

    /// A phone may have several addresses and one token: it leaves none that it has just named.
    private static func withoutNamed(_ left: [String], _ registration: Registration) -> [String] {
        left.filter { uri in !registration.contacts.contains { $0.uri == uri && !registration.isRemoval($0) } }
    }

    /// Says whether a REGISTER must be refused, by what its host has set. Stores nothing.
    func answerRefusal(_ question: Question) {
        let (registration, _, _) = read(question.message)
        let rules = RefusalRules(
            sends555: question.number(.sends555) != 0, minExpires: Int(clamping: question.number(.minExpires)))
        let refusal = context.policy.refusal(of: registration, by: rules)
        let problems = context.policy.problems(of: registration)
        question.reply { writer in
            guard let refusal else { return }
            writer.put(.status, Int64(refusal.code))
            writer.put(.reason, refusal.reason)
            if refusal.code == 423 { writer.put(.headerLines, "Min-Expires: \(refusal.minExpires)\r\n") }
            for problem in problems { writer.put(.problem, problem) }
        }
    }

    /// Says which contacts a phone leaves when its REGISTER is accepted, to a registrar that has no room before.
    func answerLeftContacts(_ question: Question) {
        let (registration, _, _) = read(question.message)
        let now = SystemClock.wallSeconds()
        let policy = context.policy
        store.ask(about: registration.aor) { (store) throws(StoreError) in
            var left: [String] = []
            for contact in registration.contacts {
                left += try store.contactsLeft(by: policy.usable(contact, of: registration), now: now)
            }
            return Self.withoutNamed(left, registration)
        } then: {
            switch $0 {
            case .success(let left):
                question.reply { writer in
                    for contact in left { writer.put(.staleContact, contact) }
                }
            case .failure(let error): question.fail(error, storeCannotBe: "read")
            }
        }
    }

    private func answer(_ registration: Registration, _ host: RegisteringHost, _ kept: Kept, to question: Question) {
        var problems = context.policy.problems(of: registration)
        if kept.bound.isOvertaken {
            problems.append("CSeq: a REGISTER with the same Call-ID and a higher one came first")
        }
        let outcome = Self.outcome(registration, stored: kept.bound.stored.count, removed: kept.removed.count, problems)
        if outcome == .ignored { context.statistics.refused += 1 }
        if outcome == .ignored, let problem = problems.first {
            refusals.note(problem, of: registration.aor)
        } else if outcome == .stored {
            refusals.forget(registration.aor)
        }
        let verbs = settle(registration, kept) + tellRequests(of: registration, host)
        guard question.peer != nil else { return requests.dispatch(verbs) }
        let own = requests.dispatch(verbs, exceptOf: host.id)
        var stored: ProviderSet = []
        for index in kept.bound.stored.indices { stored.insert(kept.bound.stored[index].provider) }
        let caps = context.policy.featureCaps(
            of: registration, stored: stored, purrs: kept.purrs, brief: kept.bound.brief)
        var late = own[...]
        question.reply { writer in
            writer.put(.outcome, outcome.rawValue)
            writer.put(.bindings, kept.bound.stored.count)
            writer.put(.featureCaps, caps.joined())
            for problem in problems { writer.put(.problem, problem) }
            for contact in kept.stale { writer.put(.staleContact, contact) }
            // Those of one request stay in their order.
            while let request = late.first?.request {
                let verbs = late.prefix { $0.request === request }
                guard writer.putTogether({ for verb in verbs { verb.encode(into: &$0) } }) else { break }
                late = late.dropFirst(verbs.count)
            }
        }
        // A thousand calls for one user, and more: the host's supervisor executes what has no room in the answer.
        requests.dispatch(Array(late))
    }

    /// What follows from a change in the store, whenever that was; what hosts have to do comes back.
    func settle(_ registration: Registration, _ kept: Kept) -> [HostVerb] {
        if registration.unbinds { nullTokenPhones.note(registration) }
        for binding in kept.bound.stored {
            pushes.release(binding)
            context.statistics.appVersions.register(binding.token, agent: registration.userAgent)
        }
        context.statistics.stored += kept.bound.stored.count
        context.statistics.countRemoval(.unregistered, kept.removed.count)
        return requests.unbound(kept.removed.filter { !kept.bound.stored.hasToken(of: $0) }, of: registration.aor)
    }

    /// Tells the requests of the user what this REGISTER means for them; what their hosts have to do comes back.
    private func tellRequests(of registration: Registration, _ host: RegisteringHost) -> [HostVerb] {
        let isEarly = requests.recentRegistrations.isOpen(now: SystemClock.monotonicMilliseconds())
        guard isEarly || !requests.calls.requests(for: registration.aor).isEmpty else { return [] }
        var verbs: [HostVerb] = []
        for contact in registration.contacts {
            if registration.isRemoval(contact) {
                verbs += requests.unregistered(uri: contact.uri, aor: registration.aor, domain: host.domain)
                continue
            }
            let device = Self.device(contact, of: registration, host)
            verbs.take(requests.registered(device, uri: contact.uri, aor: registration.aor, domain: host.domain))
        }
        return verbs
    }

    /// A phone as the requests of its user know it.
    private static func device(
        _ contact: RegisteredContact, of registration: Registration, _ host: RegisteringHost
    ) -> CallRegistration {
        var known =
            host.contact(contact, of: registration)?.known.contact
            ?? CallContact(key: contact.uri, address: contact.uri, registrationID: registration.callID)
        // Without an instance it says nothing (RFC 5626, 6).
        if !contact.instance.isEmpty { known.flowNumber = contact.flowNumber }
        return CallRegistration(
            instance: contact.instance, tokens: contact.bindings.map(\.token), contact: known)
    }

    /// Contacts that a phone has left: requests whose hosts have yet to hear of it may name them.
    private func noteLeft(_ left: [String], _ registration: Registration, _ host: RegisteringHost) {
        guard !left.isEmpty else { return }
        for contact in registration.contacts where !registration.isRemoval(contact) {
            requests.leftContacts.note(
                LeftContacts.Move(
                    domain: host.domain, left: left, registration: Self.device(contact, of: registration, host),
                    uri: contact.uri, at: SystemClock.monotonicMilliseconds()),
                of: registration.aor)
        }
    }

    /// What other nodes are told of a REGISTER at this one; nil when nobody shares the store.
    func notice(of registration: Registration, _ host: RegisteringHost) -> [UInt8]? {
        guard store.shared != nil else { return nil }
        let route = NodeRoute(nodeURI: context.settings.text(.nodeURI))
        let contacts = registration.contacts.map { contact in
            let isRemoval = registration.isRemoval(contact)
            let saved = isRemoval ? nil : host.contact(contact, of: registration)
            return RegistrationNotice.Contact(
                uri: contact.uri, instance: contact.instance, tokens: contact.bindings.map(\.token),
                key: saved?.key ?? "", flow: saved?.flow ?? "", registrationID: registration.callID,
                flowNumber: contact.flowNumber,
                route: isRemoval
                    ? "" : route.text(aor: registration.aor, path: saved?.path ?? "", flow: saved?.flow ?? ""),
                isRemoval: isRemoval)
        }
        guard !contacts.isEmpty else { return nil }
        return RegistrationNotice(aor: registration.aor, domain: host.domain, contacts: contacts).bytes
    }
    func read(_ message: MessageReader) -> (Registration, granted: Int64, RegisteringHost) {
        var headers = RegistrationReader(others: context.policy.others)
        var host = RegisteringHost()
        var contact = WakeMessage.Contact()
        var fields = message
        var (aor, callID, cseq, granted) = ("", "", UInt32(0), Int64(-1))
        var name = 0..<0
        while let field = fields.next() {
            switch field.tag {
            case .aor: aor = fields.text(field)
            case .callID: callID = fields.text(field)
            case .cseq: cseq = UInt32(truncatingIfNeeded: fields.number(field))
            case .granted: granted = fields.number(field)
            case .headerName:
                // ORDER: clients say first what they know.
                if name.isEmpty { headers.know(aor: aor, callID: callID, cseq: cseq) }
                name = field.range
            case .headerValue:
                let bytes = fields.bytes
                headers.header(name: bytes.span.extracting(name), value: bytes.span.extracting(field.range))
            default: host.take(field, of: fields, &contact)
            }
        }
        return (headers.finish(aor: aor, callID: callID, cseq: cseq), granted, host)
    }

    private func bind(
        _ registration: Registration, _ granted: Int64, _ host: RegisteringHost, in store: any BindingStore,
        _ now: Int64
    ) throws(StoreError) -> Bound {
        var bound = Bound()
        let route = NodeRoute(nodeURI: self.store.shared == nil ? "" : context.settings.text(.nodeURI))
        for (index, contact) in registration.contacts.enumerated() {
            guard !registration.isRemoval(contact) else { continue }
            let saved = host.place(of: contact, of: registration)
            let granted = saved.map { host.granted($0) ?? granted } ?? host.leastGranted ?? granted
            if context.policy.isTooShort(granted: granted) { bound.brief.append(index) }
            var bindings = context.policy.usable(contact, of: registration)
            guard !bindings.isEmpty else { continue }
            let requested = registration.requestedExpires(of: contact).map(Int64.init) ?? Self.defaultExpires
            // SIP has 32 bits for it (RFC 3261, 20.19); the socket has 64.
            let expires = granted > 0 ? min(granted, Int64(UInt32.max)) : requested
            // Where a registrar keeps no instance (Asterisk), nothing says later that both contacts are of one phone.
            let isNameless = saved.map { host.contacts[$0].instance.isEmpty } ?? false
            let contact = self.store.shared == nil ? nil : saved.map { host.contacts[$0] }
            for index in bindings.indices {
                bindings[index].registeredAt = now
                bindings[index].expiresAt = now + expires
                bindings[index].forgetAt = context.forgetAt(now: now, expires: expires)
                if !host.domain.isEmpty { note(table: host.domain, of: &bindings[index]) }
                if let contact {
                    bindings[index].route = route.text(aor: registration.aor, path: contact.path, flow: contact.flow)
                }
            }
            guard let kept = try store.keep(bindings, now: now) else {
                bound.isOvertaken = true
                continue
            }
            bound.replaced.take(kept.leftContacts)
            if isNameless { bound.replaced += kept.otherFamily }
            bound.newTokens.take(kept.newTokens)
            bound.dueTokens.take(kept.dueTokens)
            bound.stored.take(bindings)
        }
        return bound
    }

    private func note(table: String, of binding: inout Binding) {
        if table.isSameBytes(as: Binding.usualTable) {
            requests.usualTableIsInUse = true
        } else {
            binding.table = table
        }
    }

    /// Contacts of the registrar that a phone leaves without naming them to the letter: a removal need not repeat the push
    /// parameters (RFC 8599, 4.1.2; the URIs are equal by RFC 3261, 19.1.4), and registrars compare bytes.
    private func leftContacts(_ registration: Registration, in store: any BindingStore, _ now: Int64)
        throws(StoreError) -> [String]
    {
        guard registration.contacts.contains(where: { registration.isRemoval($0) }) else { return [] }
        let leaving = registration.contacts.filter { registration.isRemoval($0) }
        var left: [String] = []
        for binding in try store.bindings(of: registration.aor, now: now) where !binding.contact.isEmpty {
            guard !left.contains(binding.contact) else { continue }
            let bare = Binding.withoutPushParameters(binding.contact)
            let isLeft = leaving.contains { contact in
                // Its address alone counts: a phone may have another Contact with the same instance and Call-ID.
                let isOther =
                    !contact.instance.isEmpty && !binding.instance.isEmpty && contact.instance != binding.instance
                return contact.uri != binding.contact && !isOther
                    && Binding.withoutPushParameters(contact.uri) == bare
            }
            if isLeft { left.append(binding.contact) }
        }
        return left
    }

    private static func outcome(
        _ registration: Registration, stored: Int, removed: Int, _ problems: [String]
    ) -> RegisterOutcome {
        if stored > 0 { return .stored }
        if removed > 0 || registration.unbinds { return .unbound }
        if !registration.queries.isEmpty { return .query }
        return problems.isEmpty ? .plain : .ignored
    }

    /// What the 200 tells of each push service: one PURR, also where a phone registers several contacts with it. A phone
    /// that speaks no RFC 8599 is told none.
    func purrs(
        of registration: Registration, _ stored: [Binding], in store: any BindingStore, now: Int64
    ) -> [Provider: PURR] {
        guard context.settings.flag(.purr) else { return [:] }
        var purrs: [Provider: PURR] = [:]
        for contact in registration.contacts where !contact.providerName.isEmpty {
            guard let binding = stored.first(where: { $0.contact == contact.uri }), purrs[binding.provider] == nil
            else {
                continue
            }
            do throws(StoreError) {
                purrs[binding.provider] = try store.purr(of: binding, now: now) {
                    // Nobody may guess one: this asks the system, once a day for each phone.
                    var system = SystemRandomNumberGenerator()
                    return PURR(using: &system)
                }
            } catch {
                // The phone can be woken for everything else.
                context.log(.warning, "no PURR for \(EngineLog.names(registration.aor, registration.callID)): \(error)")
            }
        }
        return purrs
    }
}
