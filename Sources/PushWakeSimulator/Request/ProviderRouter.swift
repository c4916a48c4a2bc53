// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// All providers under one roof: finds the one that a path belongs to, lets the script have its
/// say, and counts. No I/O: time and connection come in, a reaction goes out.
struct ProviderRouter {
    var apns: APNsService
    var oauth: OAuthService
    var fcm: FCMService
    var webPush: WebPushService
    private(set) var others: [ProviderName: any SimulatedService]
    var counters = SimulatorCounters()
    private(set) var tokens = AccessTokens()
    private(set) var script = FaultScript()
    private var faults = FaultBook([])
    /// How many scripts have begun.
    private var books = 0

    init(
        apns: APNsService, oauth: OAuthService, fcm: FCMService, webPush: WebPushService,
        others: [ProviderName: any SimulatedService]
    ) {
        self.apns = apns
        self.oauth = oauth
        self.fcm = fcm
        self.webPush = webPush
        self.others = others
    }

    /// Begins a script from its start.
    mutating func play(_ script: FaultScript) {
        self.script = script
        faults = FaultBook(script.rules)
        books &+= 1
        apns.rules = script.apns
        webPush.rules = script.webPush
        oauth.lifetime = script.tokenLifetime
    }

    /// Forgets the script and all counts but those of connections that are still open.
    mutating func reset() {
        let open = counters.openConnections
        counters = SimulatorCounters()
        counters.openConnections = open
        play(FaultScript())
    }

    /// Makes all access tokens invalid at once.
    mutating func revokeTokens() { tokens.revokeAll() }

    /// What the script says to a new connection.
    mutating func handshake(connection: Int) -> FaultRule.Handshake? { faults.handshake(connection: connection) }

    /// Checks one request; `now` in milliseconds since the epoch.
    mutating func react(to request: ReceivedRequest, memory: inout ConnectionMemory, now: Int64) -> Reaction {
        guard let provider = ProviderName(path: request.bytes(.path) ?? []) else {
            return Reaction(answer: Self.errorAnswer(404, "no provider has this path"))
        }
        if provider == .control { return Reaction(answer: answerControl(request), provider: .control) }
        counters.received(provider)
        var effects: [FaultRule.Effect] = []
        // Who gets a token and sends on one connection is a sender to FCM all the same.
        if memory.provider == nil || memory.provider == .oauth {
            memory.provider = provider
            if provider == .fcm, script.fcmMaxStreams < script.maxStreams {
                effects = [.settings([.init(id: 3, value: script.fcmMaxStreams)])]
            }
        }
        let isFirstPush = script.isStrict && memory.apns.certificate == nil && !memory.apns.hasAcceptedPush
        var reaction = react(to: request, provider: provider, memory: &memory, now: now)
        if isFirstPush, memory.apns.hasAcceptedPush {
            effects.append(.settings([.init(id: 3, value: script.maxStreams)]))
        }
        if !effects.isEmpty { reaction.effects = effects + reaction.effects }
        return reaction
    }

    /// Counts an answer that leaves.
    mutating func answered(_ provider: ProviderName?, _ answer: ProviderAnswer) {
        guard let provider, provider != .control else { return }
        counters.answered(provider, answer)
    }

    private mutating func react(
        to request: ReceivedRequest, provider: ProviderName, memory: inout ConnectionMemory, now: Int64
    ) -> Reaction {
        guard !faults.isEmpty else {
            return Reaction(
                answer: validate(request, provider: provider, session: &memory.apns, now: now), provider: provider)
        }
        if memory.ruleBook != books { (memory.ruleBook, memory.ruleMatches) = (books, [:]) }
        let token = faults.needsToken ? token(of: request, provider: provider) : []
        guard
            let rule = faults.rule(
                provider: provider, token: token, connection: memory.number, matches: &memory.ruleMatches, now: now)
        else {
            return Reaction(
                answer: validate(request, provider: provider, session: &memory.apns, now: now), provider: provider)
        }
        return carryOut(rule, request, provider: provider, memory: &memory, now: now)
    }

    private mutating func carryOut(
        _ rule: FaultRule, _ request: ReceivedRequest, provider: ProviderName, memory: inout ConnectionMemory,
        now: Int64
    ) -> Reaction {
        var reaction = Reaction(answer: nil, delay: rule.delay, effects: rule.effects, provider: provider)
        let isDropped = rule.isUnanswered || rule.effects.contains(where: \.endsStream)
        if isDropped, rule.answer == nil {
            if rule.countsAsAccepted {
                reaction.silentPush = validate(request, provider: provider, session: &memory.apns, now: now).push
            }
            counters.unanswered(provider, push: reaction.silentPush)
            return reaction
        }
        var answer: ProviderAnswer
        if let scripted = rule.answer {
            answer = self.answer(scripted, request, provider: provider, memory: &memory, now: now)
        } else {
            answer = validate(request, provider: provider, session: &memory.apns, now: now)
        }
        for header in rule.headers {
            answer.headers.removeAll { $0.name == header.name }
            answer.headers.append(header)
        }
        reaction.answer = answer
        return reaction
    }

    /// What the vendor says by itself.
    mutating func validate(
        _ request: ReceivedRequest, provider: ProviderName, session: inout APNsSession, now: Int64
    ) -> ProviderAnswer {
        switch provider {
        case .apns: apns.answer(request, session: &session, now: now)
        case .oauth: oauth.answer(request, tokens: &tokens, now: now)
        case .fcm: fcm.answer(request, tokens: tokens, now: now)
        case .webpush: webPush.answer(request, now: now)
        case .control: answerControl(request)
        default: others[provider]?.answer(request, now: now) ?? Self.errorAnswer(404, "no service has this path")
        }
    }

    /// What a rule's `token` is compared with: the last part of the path, or the token in the body.
    func token(of request: ReceivedRequest, provider: ProviderName) -> ArraySlice<UInt8> {
        switch provider {
        case .apns, .webpush:
            let path = request.bytes(.path) ?? []
            return path.lastIndex(of: UInt8(ascii: "/")).map { path[($0 + 1)...] } ?? path
        case .fcm:
            let token = (try? JSONParser.parse(request.body))?["message"]?["token"]?.string
            return Array((token ?? "").utf8)[...]
        case .oauth, .control: return []
        default: return others[provider]?.token(of: request) ?? []
        }
    }
}

extension FaultRule.Effect {
    /// It ends the connection, after an answer that is late.
    var isClose: Bool {
        if case .close = self { true } else { false }
    }

    /// The stream that caused it gets no answer.
    var endsStream: Bool {
        switch self {
        case .reset, .close: true
        case .goAway(_, _, let last): last == .none
        case .settings, .pauseReading: false
        }
    }
}
