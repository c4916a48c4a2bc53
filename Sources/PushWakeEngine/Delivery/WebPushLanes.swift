// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// One lane per Web Push service. Phones name the services, so their number is bounded.
final class WebPushLanes {
    /// Services with a lane at a time; past it the one that was idle longest makes room.
    static let mostServices = 64

    private let sender: WebPushSender
    private let loop: Loop
    private let makeLane: (HTTPOrigin, WebPushSender) -> WebPushLane
    private var lanes: [HTTPOrigin: WebPushLane] = [:]

    /// The VAPID key's point in base64url, as phones need it to subscribe.
    var publicKey: String { Base64URL.encode(sender.publicKey) }

    /// Services that have a lane now.
    var count: Int { lanes.count }

    init(_ sender: WebPushSender, loop: Loop, makeLane: @escaping (HTTPOrigin, WebPushSender) -> WebPushLane) {
        self.loop = loop
        self.sender = sender
        self.makeLane = makeLane
    }

    /// The lane for a subscription; one that refuses every push when the subscription may not be used.
    func lane(for binding: Binding) -> any ProviderLane {
        do throws(PushRefusal) {
            return lane(of: try WebPushRequest.target(of: binding.token, sender.settings).origin)
        } catch {
            return RefusingLane(label: "webpush refused", verdict: error.verdict, loop: loop)
        }
    }

    /// Other lanes take their place.
    func retire() { for lane in lanes.values { lane.retire() } }

    private func lane(of origin: HTTPOrigin) -> any ProviderLane {
        if let lane = lanes[origin] { return lane }
        guard lanes.count < Self.mostServices || makeRoom() else {
            return RefusingLane(
                label: "webpush full", verdict: Verdict(.overloaded, reason: "TooManyPushServices"), loop: loop)
        }
        let lane = makeLane(origin, sender)
        lanes[origin] = lane
        return lane
    }

    private func makeRoom() -> Bool {
        let idle = lanes.filter(\.value.isIdle)
        guard let oldest = idle.min(by: { $0.value.usedAt < $1.value.usedAt }) else { return false }
        oldest.value.close()
        lanes[oldest.key] = nil
        return true
    }
}

/// Where pushes go that must not leave.
final class RefusingLane: ProviderLane {
    let label: String
    /// Never opens: these refusals are nobody's failures.
    var breaker = Breaker(maxFail: 0)
    private let verdict: Verdict
    private let loop: Loop

    init(label: String, verdict: Verdict, loop: Loop) {
        self.label = label
        self.loop = loop
        self.verdict = verdict
    }

    var isHealthy: Bool { false }

    var queue: LaneQueue? { nil }

    func warmUp() {}

    func retire() {}

    func submit(_ job: PushJob) { loop.atEndOfTurn { [verdict] in job.finish(verdict, status: 0) } }

    func send(_ job: PushJob) { job.finish(verdict, status: 0) }

    func write(_ job: PushJob, into request: inout HTTPRequest) throws(PushRefusal) { throw .forbiddenURL }

    func ended(_ job: PushJob, _ result: HTTPResult) { job.finish(verdict, status: 0) }
}

extension WebPushSettings {
    /// Takes the operator's list of hosts and whether it may lead into private networks.
    init(_ settings: Settings) {
        self.init(
            hosts: Self.hosts(settings.text(.webPushHosts)), allowsPrivateAddresses: settings.flag(.webPushAllowLocal),
            payload: PayloadSettings(settings))
    }

    /// The hosts of a comma-separated list, in lower case.
    static func hosts(_ list: String) -> [String] {
        list.split(separator: ",").compactMap { entry in
            let words = entry.split(separator: " ")
            return words.count == 1 ? words[0].lowercased() : nil
        }
    }
}
