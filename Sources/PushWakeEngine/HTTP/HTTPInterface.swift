// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Serves HTTP on the engine's own loop: knows who asks, how much they may ask, and where a request goes.
final class HTTPInterface {
    /// Why it cannot start.
    struct Failure: Error {
        let message: String
    }

    /// A TLS handshake costs as much of an address's budget as so many requests.
    private static let handshakeCost: Double = 2

    private let core: EngineCore
    private let loop: Loop
    private let log: EngineLog
    private let listener: HTTPListener
    private var settings: Settings
    private var access: HTTPAccess
    private var router = HTTPRouter([])
    private let events: EventEndpoint
    private let waits = HTTPWaits()
    private let trials: TryEndpoint
    private var budget: RequestBudget
    private var attempts = PasswordAttempts()
    private var watch: KeyWatch
    private var attemptLines = LineBudget(most: 3, period: 60_000)
    private let key = Crypto.randomBytes(32)
    private(set) var counters = HTTPCounters()
    /// Milliseconds since when refreshes wait to be written to the store; 0 when none do.
    var storeLag: () -> Int64 = { 0 }
    /// Seconds since 1970 at which the certificate ends; nil without one.
    private(set) var certificateExpiresAt: Int64?

    /// Listens; nobody is let in with files that cannot be used.
    init(_ core: EngineCore, loop: Loop, log: EngineLog) throws(Failure) {
        let settings = core.context.settings
        self.core = core
        self.loop = loop
        self.log = log
        self.settings = settings
        events = EventEndpoint(core.context.traces, loop: loop)
        trials = TryEndpoint(core.context, loop: loop, log: log)
        watch = KeyWatch(HTTPSetup.files(settings))
        budget = RequestBudget(rate: Double(settings.integer(.httpRate)))
        let hashes = HTTPAccess.Hashes(
            hash: { Crypto.digest($0, $1) },
            keyed: { [key] in Crypto.hmacSHA256(key: key, $0) })
        access = HTTPAccess(hashes: hashes)
        let tls: TLSContext?
        let address: SocketAddress
        do {
            address = try HTTPSetup.address(settings.text(.httpListen))
            let identity = try HTTPSetup.identity(settings)
            certificateExpiresAt = identity?.leaf.expiresAt
            // Without the certificate that was set, nothing is served in the clear.
            tls = try identity.map { identity throws(TLSError) in try TLSContext.serving(identity) }
        } catch let error as SettingError {
            throw Failure(message: "\(error.setting): \(error.message)")
        } catch let error as KeyFileError {
            throw Failure(message: "http_cert: \(error.message)")
        } catch {
            throw Failure(message: "http_cert: \(error)")
        }
        var limits = HTTPListener.Limits()
        limits.connections = Self.mostConnections
        do throws(SystemError) {
            listener = try HTTPListener(
                address, tls: tls, limits: limits, loop: loop,
                onFull: { [hosts = core.hosts] in hosts.descriptorsAreShort($0) })
        } catch {
            throw Failure(
                message: "http_listen: cannot listen on \(address): \(error); choose another address or port")
        }
        // The inspection of the settings, which runs at every start, has said what is wrong.
        _ = readPeople()
        listener.admits = { [weak self] in self?.admits($0) ?? false }
        listener.onRequest = { [weak self] request, slot in self?.handle(request, slot) }
        router = HTTPRouter(endpoints)
        watchFiles()
    }

    /// Connections at a time: the PBX and providers need most of the descriptors.
    static var mostConnections: Int { min(HTTPListener.Limits().connections, max(1, AcceptGate.limit / 4)) }

    /// Where it listens.
    var address: SocketAddress { listener.address }
    /// Connections now.
    var connections: Int { listener.count }
    /// Pages that are open now and hear of changes.
    var pages: Int { events.count }
    /// Clients that were closed because they took too long, and those for whom there was no room.
    var rejected: (overdue: Int, turnedAway: Int) { (listener.overdue, listener.turnedAway) }

    func close() {
        waits.endAll()
        trials.end()
        listener.close()
    }

    // MARK: Files

    /// Goes on with other settings and reads the files again; says what cannot be used. What is broken stays as it was.
    func reload(_ new: Settings) -> [String] {
        settings = new
        watch = KeyWatch(HTTPSetup.files(new))
        budget = RequestBudget(rate: Double(new.integer(.httpRate)))
        return readPeople() + readCertificate()
    }

    /// Reads token and users; of the two, what cannot be read stays as it was.
    private func readPeople() -> [String] {
        var problems: [String] = []
        var token: [UInt8]?
        var users: HTTPUsers?
        do throws(KeyFileError) {
            token = try HTTPSetup.token(settings)
        } catch {
            problems.append("http_token_file: \(error.message)")
        }
        do throws(KeyFileError) {
            let read = try HTTPSetup.users(settings)
            problems += HTTPSetup.problems(of: read, settings).map { "http_users: \($0)" }
            users = read
        } catch {
            problems.append("http_users: \(error.message)")
        }
        access.change(
            token: token, users: users, operators: HTTPSetup.operators(settings), realm: settings.text(.httpRealm))
        // Who may read is asked when a stream begins: all begin anew.
        events.endAll()
        return problems
    }

    private func readCertificate() -> [String] {
        guard listener.tls != nil || !settings.text(.httpCert).isEmpty else { return [] }
        do {
            guard let identity = try HTTPSetup.identity(settings) else {
                return [
                    "http_cert: is empty now; TLS goes on with the certificate before until the engine starts again"
                ]
            }
            listener.tls = try TLSContext.serving(identity)
            certificateExpiresAt = identity.leaf.expiresAt
            return []
        } catch let error as KeyFileError {
            return ["http_cert: \(error.message)"]
        } catch {
            return ["http_cert: \(error)"]
        }
    }

    /// Looks every few seconds for files that are new.
    private func watchFiles() {
        loop.schedule(after: 2000) { [weak self] in
            guard let self else { return }
            if watch.look() {
                for problem in readPeople() + readCertificate() { log(.warning, problem) }
                log(.notice, "the files of http_listen have changed and were read again")
            }
            watchFiles()
        }
    }

    // MARK: Requests

    private func admits(_ peer: SocketAddress) -> Bool {
        guard listener.tls == nil || budget.take(peer.ip, cost: Self.handshakeCost, now: loop.now) else {
            counters.limited += 1
            return false
        }
        return true
    }

    private func handle(_ request: ServedRequest, _ slot: AnswerSlot) {
        counters.requests += 1
        guard budget.take(slot.peer.ip, now: loop.now) else {
            counters.limited += 1
            return slot.answer(Self.tooMany("too many requests of this address; see http_rate", request))
        }
        switch router.match(request) {
        case .nothing: slot.answer(.problem(404, "there is nothing at this path", for: request))
        case .otherMethod(let methods):
            var answer = ServedAnswer.problem(
                405, "this path takes \(methods.joined(separator: ", "))", for: request)
            answer.headers.append(.init(name: "allow", value: methods.joined(separator: ", ")))
            slot.answer(answer)
        case .endpoint(let endpoint): admit(request, slot, to: endpoint)
        }
    }

    private func admit(_ request: ServedRequest, _ slot: AnswerSlot, to endpoint: HTTPEndpoint) {
        guard !request.isForAnotherSite || endpoint.method == "GET" && !endpoint.changes else {
            return slot.answer(.problem(403, "this request comes from a page of another site", for: request))
        }
        guard endpoint.audience != .everybody else {
            return endpoint.run(HTTPCall(request: request, slot: slot, identity: nil))
        }
        let credentials = HTTPCredentials(request["authorization"])
        let mayGuess = attempts.mayTry(credentials.user, at: slot.peer.ip, now: loop.now)
        switch access.decide(credentials, of: request, mayGuess: mayGuess, now: loop.wallSeconds) {
        case .granted(let identity):
            if !credentials.user.isEmpty { attempts.wasRight(credentials.user, at: slot.peer.ip, now: loop.now) }
            guard endpoint.audience == .accounts || identity == .operating else {
                return slot.answer(
                    .problem(403, "this is for operators: http_token_file, http_operators", for: request))
            }
            endpoint.run(HTTPCall(request: request, slot: slot, identity: identity))
        case .asked(let isStale):
            if endpoint.audience == .accounts, let fields = try? HTTPFields(request), fields.hasPassword {
                return admit(fields, request, slot, to: endpoint)
            }
            slot.answer(refusal("say who you are", request, isStale: isStale))
        case .wrong(let isGuess):
            noteWrong(slot, guessOf: isGuess ? credentials.user : nil)
            slot.answer(refusal("this password or token is wrong", request))
        case .limited: limit(request, slot)
        }
    }

    private func limit(_ request: ServedRequest, _ slot: AnswerSlot) {
        counters.limited += 1
        slot.answer(Self.tooMany("too many wrong passwords of this address; wait a minute", request))
    }

    /// Apps that report tokens can be told to put name and password into the body.
    private func admit(
        _ fields: HTTPFields, _ request: ServedRequest, _ slot: AnswerSlot, to endpoint: HTTPEndpoint
    ) {
        let user = fields["username"] ?? ""
        guard attempts.mayTry(user, at: slot.peer.ip, now: loop.now) else { return limit(request, slot) }
        guard let identity = access.identity(user: user, password: Array((fields["password"] ?? "").utf8)) else {
            noteWrong(slot, guessOf: user)
            return slot.answer(.problem(403, "this name or password is wrong"))
        }
        attempts.wasRight(user, at: slot.peer.ip, now: loop.now)
        endpoint.run(HTTPCall(request: request, slot: slot, identity: identity))
    }

    private func noteWrong(_ slot: AnswerSlot, guessOf user: String?) {
        counters.wrong += 1
        if let user { attempts.wasWrong(user, at: slot.peer.ip, now: loop.now) }
        guard case .write(let leftOut) = attemptLines.admit(now: loop.now) else { return }
        let more = leftOut > 0 ? " (and \(leftOut) others since the last such line)" : ""
        log(.warning, "HTTP: \(slot.peer.ip) sent a wrong password or token\(more)")
    }

    private func refusal(_ text: String, _ request: ServedRequest, isStale: Bool = false) -> ServedAnswer {
        var answer = ServedAnswer.problem(401, text, for: request)
        answer.headers += access.challenges(isStale: isStale, now: loop.wallSeconds)
        return answer
    }

    private static func tooMany(_ text: String, _ request: ServedRequest) -> ServedAnswer {
        var answer = ServedAnswer.problem(429, text, for: request)
        answer.headers.append(.init(name: "retry-after", value: "2"))
        return answer
    }

    private func health(method: String) -> HTTPEndpoint {
        HTTPEndpoint(method: method, path: "/healthz", audience: .everybody) { [core] call in
            call.answer(HealthReport(core).answer)
        }
    }

    private var endpoints: [HTTPEndpoint] {
        let (context, questions) = (core.context, EngineQuestions(to: core))
        return [
            health(method: "GET"),
            // HAProxy asks with OPTIONS where nobody has told it otherwise.
            health(method: "OPTIONS"),
            HTTPEndpoint(method: "GET", path: "/metrics", audience: .operators) { [weak self, core] call in
                guard let self else { return }
                call.answer(MetricsReport(core, self).answer)
            },
        ] + TokenEndpoints(registrations: core.registrations, questions: questions).endpoints
            + PushEndpoints(context: context, requests: core.requests, questions: questions, waits: waits).endpoints
            + PageEndpoints(context: context, queries: core.queries, questions: questions) { [weak self, core] in
                PageOverview(core, certificateEnd: self?.certificateExpiresAt).overview
            }.endpoints + [events.endpoint, trials.endpoint]
    }
}

/// What the listener has done since the engine started.
struct HTTPCounters {
    var requests = 0
    /// Requests and connections of addresses that sent too many.
    var limited = 0
    /// Wrong passwords and tokens.
    var wrong = 0
}
