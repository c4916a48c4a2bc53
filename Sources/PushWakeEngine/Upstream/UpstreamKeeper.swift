// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem
internal import PushWakeTransport

/// Keeps phones registered at SIP servers, also while they sleep: which account is due, what the machine of each says,
/// and what is remembered over a restart. Hosts send the REGISTERs.
final class UpstreamKeeper {
    private let context: EngineContext
    private let store: any BindingStore
    private let hosts: HostConnections
    private let outcomes: PushOutcomes
    private let delivery: Delivery
    private(set) var servers: UpstreamServers
    private(set) var policy: UpstreamPolicy
    /// Header lines that make the server send its requests along this gateway (RFC 3327); empty for none.
    private let path: String
    var accounts = KeptAccounts()
    private var schedule = UpstreamSchedule()
    private var paces: [String: UpstreamPace] = [:]
    private let file: UpstreamFile?
    private let box: SecretBox?
    private var sending: [UInt64: (account: KeptAccount, attempt: UInt32)] = [:]
    private var lastID = UInt64.random(in: 1...UInt64.max / 2)
    private var unsaved: Set<String> = []
    private var removed: Set<String> = []
    private var timer: (id: Loop.TimerID, at: Int64)?
    private var isSaving = false
    /// The last attempt to write was in vain.
    private var isUnwritten = false
    /// Counters since the start.
    private(set) var sent = 0
    private(set) var refused = 0
    private var hasSaidNoKey = false
    private var hasSaidUnkept = false
    /// Seconds since 1970 at which monotonic time began, as the clock of the last look has it.
    private var beganAt: Int64?

    /// Milliseconds between two looks at what is due.
    private static let step: Int64 = 20
    /// Accounts in one look: the loop has other things to do.
    private static let batch = 200
    private static let savePause: Int64 = 200
    private static let retryPause: Int64 = 1000
    /// Seconds; clocks are put right by less all the time, and every plan has as much to spare.
    private static let leastJump: Int64 = 5
    /// Milliseconds after which somebody may be there again who sends.
    private static let hostPause: Int64 = 1000
    /// Seconds for which a push may wait that asks a phone to register.
    private static let pushLife: Int64 = 120

    init(core: EngineCore, settings: Settings, file: UpstreamFile?, box: SecretBox?) {
        (context, store, hosts) = (core.context, core.store.own, core.hosts)
        (outcomes, delivery) = (core.outcomes, core.delivery)
        servers = UpstreamServers(settings.text(.upperServers))
        policy = UpstreamPolicy(settings)
        path = Self.path(settings.text(.upperPathHeader))
        self.file = file
        self.box = box
    }

    private static func path(_ uri: String) -> String {
        guard !uri.isEmpty else { return "" }
        let isLoose = uri.split(separator: ";").dropFirst().contains("lr")
        return "Path: <\(uri)\(isLoose ? "" : ";lr")>\r\nSupported: path\r\n"
    }

    private var now: Int64 { SystemClock.monotonicMilliseconds() }
    private var wall: Int64 { SystemClock.wallSeconds() }

    /// Takes over what was kept before a restart.
    func restore() {
        lookAtClock()
        do throws(StoreError) {
            for row in try file?.rows() ?? [] { restore(row) }
        } catch {
            context.log(.error, "upstream registrations could not be read: \(error)")
        }
        arm()
    }

    private func restore(_ row: UpstreamRow) {
        guard let account = add(row.target, local: row.local, callID: row.callID, fromTag: row.fromTag, cseq: row.cseq)
        else { return }
        let (now, wall) = (now, wall)
        // A file may hold any number.
        func moment(_ seconds: Int64) -> Int64 {
            now + (min(max(seconds, wall - 1 << 30), wall + 1 << 30) - wall) * 1000
        }
        let isReadable = !row.secret.isEmpty && box?.open(row.secret, for: account.name) != nil
        if !row.secret.isEmpty && !isReadable {
            context.log(
                .warning,
                "the credential of \(account.name) cannot be read with secret_key_file; its phone must register")
        }
        (account.username, account.aor, account.isStored) = (row.username, row.aor, true)
        account.secret = isReadable ? row.secret : []
        account.machine.restore(
            until: row.until == 0 ? nil : moment(row.until), interval: row.interval,
            credential: isReadable ? row.algorithm : nil,
            devices: row.devices.map { (UpstreamDevice(fingerprint: $0.device), moment($0.endsAt)) },
            now: now)
        paces[row.target.server, default: UpstreamPace()].add(interval: row.interval)
        reseal(account)
        reschedule(account)
    }

    /// What an earlier key sealed is sealed with the first one.
    private func reseal(_ account: KeptAccount) {
        guard let box, !account.secret.isEmpty, !box.isCurrent(account.secret),
            let secret = box.open(account.secret, for: account.name),
            let sealed = try? box.seal(secret, for: account.name)
        else { return }
        account.secret = sealed
        save(account)
    }

    /// The account of a target, made where there is none; nil when there is no room.
    func account(_ request: UpstreamRequest) -> KeptAccount? {
        accounts[request.target.name]
            ?? add(
                request.target, local: request.local, callID: Hex.encode(Crypto.randomBytes(16)) + "@pushwake",
                fromTag: Hex.encode(Crypto.randomBytes(6)), cseq: 0)
    }

    private func add(
        _ target: UpstreamTarget, local: String, callID: String, fromTag: String, cseq: UInt32
    ) -> KeptAccount? {
        guard let index = accounts.place() else { return nil }
        let account = KeptAccount(
            index: index, target: target,
            machine: UpstreamRegistration(policy, cseq: cseq, seed: UInt64.random(in: 0...UInt64.max)), callID: callID,
            fromTag: fromTag, local: local)
        accounts.add(account)
        paces[target.server, default: UpstreamPace()].join()
        return account
    }

    // MARK: What happens

    /// A phone registers.
    func register(_ phone: PhoneRegister, _ request: UpstreamRequest, _ account: KeptAccount) -> [UpstreamOrder] {
        account.requests[phone.handle] = request
        return perform(account.machine.register(phone, now: now, wallSeconds: wall), account)
    }

    /// A server answered what was sent with this id; nil when nobody asked.
    func sender(of id: UInt64) -> KeptAccount? { sending[id]?.account }

    /// Goes on with an answer.
    func answered(_ id: UInt64, _ answer: UpstreamAnswer) -> [UpstreamOrder] {
        guard answer.status >= 200, let (account, attempt) = sending.removeValue(forKey: id) else { return [] }
        if answer.status == 420, !path.isEmpty {
            context.log(
                .warning, "the SIP server of \(account.name) does not support Path (420); leave upper_path_header empty"
            )
        }
        return follow(account) { machine in
            machine.answered(attempt, answer, now: now, wallSeconds: wall)
        }
    }

    private func follow(
        _ account: KeptAccount, _ event: (inout UpstreamRegistration) -> [UpstreamAction]
    ) -> [UpstreamOrder] {
        let before = account.machine.interval
        let actions = event(&account.machine)
        paces[account.target.server, default: UpstreamPace()].remove(interval: before)
        paces[account.target.server, default: UpstreamPace()].add(interval: account.machine.interval)
        return perform(actions, account)
    }

    /// Does what the machine says; what hosts have to do comes back.
    private func perform(_ actions: [UpstreamAction], _ account: KeptAccount) -> [UpstreamOrder] {
        var orders: [UpstreamOrder] = []
        var isForgotten = false
        for action in actions {
            switch action {
            case .send(let register): if let order = send(register, account) { orders.append(order) }
            case .accept(let phone, let atMost, let headers):
                take(account.requests.removeValue(forKey: phone), phone.host, account)
                var order = UpstreamOrder(.accept, host: phone.host, account)
                (order.handle, order.atMost) = (phone.number, atMost)
                order.headers = lines(headers, order.target)
                orders.append(order)
            case .refuse(let phone, let status, let reason, let headers):
                var order = UpstreamOrder(
                    .refuse, host: phone.host, account, account.requests.removeValue(forKey: phone)?.target)
                (order.handle, order.status, order.reason) = (phone.number, status, reason)
                order.headers = lines(headers, order.target)
                orders.append(order)
            case .adopt(let secret): adopt(secret, account)
            case .dropCredential:
                refused += 1
                account.secret = []
                context.log(
                    .warning,
                    "the SIP server refuses \(account.name); its phone is woken to register before the registration ends"
                )
            case .save: save(account)
            case .wakePhones: wake(account)
            case .lapsed(let why, let removes): lapsed(account, why, removes)
            case .forget: isForgotten = true
            case .serverAnswered: paces[account.target.server]?.answered()
            case .serverFailed(let retryAfter):
                paces[account.target.server, default: UpstreamPace()].failed(
                    now: now, retryAfter: retryAfter, random: UInt64.random(in: 0...UInt64.max))
            }
        }
        if isForgotten, !account.machine.isBusy { forget(account) } else { reschedule(account) }
        return orders
    }

    /// The server has accepted it: what the phone said counts for the account now.
    private func take(_ request: UpstreamRequest?, _ host: UInt64, _ account: KeptAccount) {
        account.host = host
        guard let request else { return }
        account.target = request.target
        if !request.local.isEmpty { account.local = request.local }
        if let username = request.username { account.username = username }
    }

    private func lines(_ headers: [String], _ target: UpstreamTarget) -> String {
        // The URI that a digest answer covers where the server is strict (Mizutech's header).
        (headers + ["X-Sy.AuthURI: \(target.requestURI)"]).map { $0 + "\r\n" }.joined()
    }

    private func send(_ register: UpstreamRegister, _ account: KeptAccount) -> UpstreamOrder? {
        lastID &+= 1
        sent += 1
        let phone = account.machine.phone(of: register.attempt)
        let request = phone.flatMap { account.requests[$0.handle] }
        var order = UpstreamOrder(.send, host: phone?.handle.host ?? account.host, account, request?.target)
        let username = request?.username ?? account.username
        let local = request.map { $0.local.isEmpty ? account.local : $0.local } ?? account.local
        (order.id, order.cseq) = (lastID, register.cseq)
        if register.hasOwnCallID { order.callID = "\(register.attempt)-\(account.callID)" }
        order.headers = "Contact: <sip:\(account.name)@\(local)>\r\nExpires: \(register.expires)\r\n\(path)"
        switch register.authorization {
        case .none: break
        case .phone(let lines): order.headers += lines.map { $0 + "\r\n" }.joined()
        case .digest(let challenges, let ofPhone):
            let kept = ofPhone ? phone?.credential : box?.open(account.secret, for: account.name)
            guard let secret = kept else {
                account.machine.loseCredential(now: now)
                break
            }
            for entry in challenges {
                let answer = DigestAnswer(
                    entry.challenge, count: entry.count, clientNonce: Hex.encode(Crypto.randomBytes(8)))
                order.headers +=
                    answer.header(
                        username: username, credential: secret, method: "REGISTER", uri: order.target.requestURI,
                        hash: Crypto.digest) + "\r\n"
            }
        }
        // A host that was asked before and never answered has forgotten it.
        forgetSent(account) { $0 == register.attempt || !account.machine.isUnderWay($0) }
        account.sending.append((register.attempt, lastID))
        sending[lastID] = (account, register.attempt)
        return order
    }

    private func adopt(_ secret: Secret, _ account: KeptAccount) {
        guard let box else {
            if !hasSaidNoKey {
                context.log(
                    .warning,
                    "X-PIID is not kept: set secret_key_file; until then phones are woken to register by themselves")
            }
            hasSaidNoKey = true
            return account.machine.loseCredential(now: now)
        }
        do throws(TLSError) {
            account.secret = try box.seal(secret, for: account.name)
        } catch {
            context.log(.error, "X-PIID of \(account.name) could not be encrypted: \(error.message)")
            account.machine.loseCredential(now: now)
        }
    }

    private func forgetSent(_ account: KeptAccount, where isOver: (UInt32) -> Bool) {
        account.sending.removeAll { entry in
            guard isOver(entry.attempt) else { return false }
            sending[entry.id] = nil
            return true
        }
    }

    private func forget(_ account: KeptAccount) {
        schedule.clear(account.index)
        forgetSent(account) { _ in true }
        accounts.remove(account)
        if paces[account.target.server]?.leave() == true { paces[account.target.server] = nil }
        unsaved.remove(account.name)
        guard account.isStored else { return }
        removed.insert(account.name)
        saveSoon()
    }

    // MARK: Phones and bindings

    /// Under this key bindings of an account are stored.
    func note(account name: String, aor: String) {
        guard let account = accounts[name], account.aor != aor else { return }
        account.aor = aor
        save(account)
        // Without it nobody would know after a crash that the account is wanted.
        flush()
    }

    /// Push bindings of an account.
    func bindings(_ account: KeptAccount) -> [Binding] {
        guard !account.aor.isEmpty else { return [] }
        return (try? store.bindings(of: account.aor, now: wall)) ?? []
    }

    /// Somebody has removed these bindings of a user by hand.
    func removed(_ bindings: [Binding], of aor: String) {
        guard !bindings.isEmpty else { return }
        for account in accounts.all where account.aor == aor {
            account.machine.removed(bindings.map(UpstreamDevice.init(of:)), now: now)
            reschedule(account)
        }
    }

    private func wake(_ account: KeptAccount) {
        let bindings = APNsTokenKind(context.settings).named(bindings(account))
        let plan = Plan(.refresh, bindings, isAwake: bindings.map { _ in false })
        for chosen in plan.pushes where delivery.canPush(bindings[chosen.index]) {
            let content = PushContent(
                event: .refresh, callID: context.makeCallID(), toURI: account.target.localURI,
                timeToLive: UInt32(Self.pushLife), sentAt: wall)
            context.statistics.pushed += 1
            let deadline = context.loop.now + Self.pushLife * 1000
            delivery.push(
                Push(bindings[chosen.index], content, type: chosen.type, deadline: deadline), owner: outcomes)
        }
    }

    private func lapsed(_ account: KeptAccount, _ why: String, _ removes: Bool) {
        context.log(.warning, "\(why): \(account.name)\(removes ? "; its push bindings are removed" : "")")
        guard removes, !account.aor.isEmpty else { return }
        do throws(StoreError) {
            _ = try store.remove(.all, of: account.aor, reason: why, now: wall)
        } catch {
            context.log(.error, "bindings of \(account.aor) could not be removed: \(error)")
        }
    }

    // MARK: Time

    /// Sees whether more time has passed than was counted: monotonic time stands still while the machine sleeps or is
    /// paused, and a machine without a battery may have been restored by the clock of another year. To be called each second.
    func lookAtClock() { lookAtClock(now: now, wall: wall) }

    func lookAtClock(now: Int64, wall: Int64) {
        let began = wall - now / 1000
        defer { beganAt = began }
        guard let before = beganAt, began - before > Self.leastJump else { return }
        let milliseconds = min(began - before, 1 << 30) * 1000
        context.log(
            .notice,
            "the clock is \(began - before) s ahead of what was counted: the host slept, or its clock was put forward; "
                + "upstream registrations are renewed early")
        for account in accounts.all {
            account.machine.passed(milliseconds, now: now)
            reschedule(account)
        }
    }

    private func reschedule(_ account: KeptAccount) {
        if let due = account.machine.dueAt {
            schedule.set(account.index, at: due)
        } else {
            schedule.clear(account.index)
        }
        arm()
    }

    private func arm() {
        guard let next = schedule.next else { return }
        let at = max(next, now + Self.step)
        if let timer {
            if timer.at <= at { return }
            context.loop.cancel(timer.id)
        }
        let id = context.loop.schedule(at: at) { [weak self] in
            self?.timer = nil
            self?.look()
        }
        timer = (id, at)
    }

    private func look() {
        for _ in 0..<Self.batch {
            guard let index = schedule.pop(now: now) else { break }
            if let account = accounts[index] { look(account) }
        }
        arm()
    }

    private func look(_ account: KeptAccount) {
        if account.machine.wouldSend(now: now), let later = putOff(account) {
            account.machine.postpone(to: later)
            return reschedule(account)
        }
        // A binding whose store cannot be read is not gone.
        let isWanted =
            account.aor.isEmpty ? false : (try? store.bindings(of: account.aor, now: wall))?.isEmpty != true
        let orders = follow(account) { machine in machine.due(now: now, wallSeconds: wall, isWanted: isWanted) }
        hosts.send(orders)
    }

    /// When a refresh may go, where that is later.
    private func putOff(_ account: KeptAccount) -> Int64? {
        guard let host = hosts.upstreamHost(account.host) else { return now + Self.hostPause }
        account.host = host
        var pace = paces[account.target.server] ?? UpstreamPace()
        defer { paces[account.target.server] = pace }
        if let later = pace.admit(now: now, random: UInt64.random(in: 0...UInt64.max)) {
            account.hasPlace = false
            return later
        }
        if account.hasPlace {
            account.hasPlace = false
            return nil
        }
        let place = pace.reserve(now: now)
        guard place > now else { return nil }
        account.hasPlace = true
        return place
    }

    // MARK: The file

    /// What is new is written before anybody is told of it; refreshes go in groups.
    private func save(_ account: KeptAccount) {
        guard file != nil else { return warnUnkept() }
        unsaved.insert(account.name)
        if account.isStored { return saveSoon() }
        account.isStored = true
        flush()
    }

    private func warnUnkept() {
        guard !hasSaidUnkept, context.settings.upstreamPath != nil else { return }
        hasSaidUnkept = true
        context.log(
            .warning,
            "upstream registrations end with this engine; to keep them over a restart, name their SIP servers in upper_servers"
        )
    }

    private func saveSoon(after pause: Int64 = savePause) {
        guard file != nil, !isSaving else { return }
        isSaving = true
        context.loop.schedule(after: pause) { [weak self] in
            self?.isSaving = false
            self?.flush()
        }
    }

    /// Writes all that has changed.
    func flush() {
        guard let file, !unsaved.isEmpty || !removed.isEmpty else { return }
        let (now, wall) = (now, wall)
        let rows = unsaved.compactMap { accounts[$0]?.row(now: now, wall: wall) }
        do throws(StoreError) {
            try file.write(rows, removing: removed.filter { accounts[$0] == nil })
            unsaved = []
            removed = []
            if isUnwritten { context.log(.notice, "upstream registrations are written again") }
            isUnwritten = false
        } catch {
            if !isUnwritten {
                context.log(.error, "upstream registrations wait until they can be written: \(error)")
            }
            isUnwritten = true
            saveSoon(after: Self.retryPause)
        }
    }
}
